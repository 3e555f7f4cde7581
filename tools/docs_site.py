"""What the docs site has besides docs/: mathematics, the notebooks, pages of the top folder.

``mkdocs.yml`` names this file as a hook. Formulas become MathML when the site is built, so that a
page shows them without a script, and without a network.
"""

import json
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PAGES = {"CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Pages of the top folder, and their names on the site."""


def on_config(config: MkDocsConfig) -> None:
    """Render ```math blocks."""
    fence = {"name": "math", "class": "math", "format": render_formula}
    config.mdx_configs.setdefault("pymdownx.superfences", {})["custom_fences"] = [fence]


def render_formula(source: str, *_: Any, **__: Any) -> str:
    """LaTeX as MathML, in a box that scrolls on a narrow screen."""
    formula = convert(source, display="block")
    if "\\" in formula:
        raise PluginError(f"a formula has a command that is not known:\n{source}\n{formula}")
    return f'<div class="formula" tabindex="0">{formula}</div>'


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the notebooks and the pages of the top folder."""
    for notebook in NOTEBOOKS:
        page = f"tutorials/{notebook.stem}.md"
        files.append(File.generated(config, page, content=notebook_page(notebook)))
    for name, page in PAGES.items():
        content = (ROOT / name).read_text(encoding="utf-8").replace("](docs/", "](")
        files.append(File.generated(config, page, content=content))


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Lead links that leave docs/ to the pages made of what they link to."""
    for name, page in PAGES.items():
        markdown = markdown.replace(f"](../{name}", f"]({page}")
    for notebook in NOTEBOOKS:
        markdown = markdown.replace(
            f"](../notebooks/{notebook.name}", f"](tutorials/{notebook.stem}.md"
        )
    return markdown


def notebook_page(notebook: Path) -> str:
    """A notebook as Markdown: text as it is, code as blocks."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    parts = [_cell(cell["cell_type"], "".join(cell["source"])) for cell in cells]
    title, rest = parts[0].partition("\n")[::2]
    note = f"*This page is the notebook `notebooks/{notebook.name}`: open it and run the cells.*"
    return "\n\n".join([title, note, rest, *parts[1:]]) + "\n"


def _cell(kind: str, source: str) -> str:
    if kind == "markdown":
        for name, page in PAGES.items():
            source = source.replace(f"](../{name}", f"](../{page}")
        return source.replace("](../docs/", "](../").replace(".ipynb)", ".md)")
    magic, _, rest = source.partition("\n")
    return f"```console\n{rest}\n```" if magic == "%%bash" else f"```python\n{source}\n```"
