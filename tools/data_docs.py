"""Writes the datasets of docs/data.md from the sources, the readers' options and the environments.

``python tools/data_docs.py`` rewrites what stands between the marks; a test compares the two.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic.fields import FieldInfo

from losslab.data.download.sources import SOURCES, Download, Source
from losslab.data.readers import reader_options

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "data.md"
MARKS = re.compile(r"(<!-- datasets -->\n).*(<!-- /datasets -->)", flags=re.DOTALL)


def main() -> None:
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def render(current: str) -> str:
    """The page with the sections of all datasets."""
    sections = "\n".join(describe(name, source) for name, source in SOURCES.items())
    return MARKS.sub(lambda marks: f"{marks[1]}\n{sections}\n{marks[2]}", current)


def describe(name: str, source: Source) -> str:
    """The section of a dataset: what it is, how to get it, how to read it, what is set for it."""
    parts = [f"### {name}\n", f"{_sentence(source.about)} Licence: {source.licence}.\n"]
    parts += [_way(name, source), _options(name), _environment(name)]
    return "\n".join(part for part in parts if part)


def _way(name: str, source: Source) -> str:
    if source.ready:
        return f"Nothing to fetch: it {'is ' * source.ready.startswith('made')}{source.ready}.\n"
    if source.downloads:
        lines = [f"`kedro fetch {name}` gets\n", *map(_download, source.downloads)]
    else:
        steps = [step.format(folder=f"`data/01_raw/{name}/`") for step in source.steps]
        lines = ["By hand:\n", *(f"{number}. {step}" for number, step in enumerate(steps, 1))]
    return "\n".join(lines) + "\n"


def _download(wanted: Download) -> str:
    pinned = f"sha256 `{wanted.sha256}`" if wanted.sha256 else "sha256 not known beforehand"
    return f"- `{wanted.name}` from {' or '.join(f'<{a}>' for a in wanted.addresses)}; {pinned}"


def _options(name: str) -> str:
    fields = reader_options(name).model_fields
    told = [_option(option, field) for option, field in fields.items()]
    return f"Options of its reader: {', '.join(told)}.\n" if told else ""


def _option(name: str, field: FieldInfo) -> str:
    """The option with its default, and what else there is to choose from."""
    default = "null" if field.default is None else field.default
    choices = [value for value in get_args(field.annotation) if isinstance(value, str)]
    others = ", ".join(value for value in choices if value != default)
    return f"`corpus.{name}={default}`" + f" (or {others})" * bool(others)


def _environment(name: str) -> str:
    file = ROOT / "conf" / name / "parameters.yml"
    if not file.exists():
        return ""
    values = yaml.safe_load(file.read_text(encoding="utf-8"))
    settings = ", ".join(f"`{path}={value}`" for path, value in _flat(values))
    return f"`--env={name}` sets {settings}.\n"


def _flat(tree: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


if __name__ == "__main__":
    main()
