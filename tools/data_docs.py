"""Writes the datasets of docs/data.md from the sources, the readers' options and conf/datasets.

``python tools/data_docs.py`` rewrites the part between the marks; a test compares the two.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic.fields import FieldInfo

from losslab.data.download.sources import SOURCES, Download, Source
from losslab.data.readers import FILE_READERS, READERS, reader_options

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "data.md"
DATASETS = ROOT / "conf" / "datasets"
MARKS = re.compile(r"(<!-- datasets -->\n).*(<!-- /datasets -->)", flags=re.DOTALL)
LISTED_GROUPS = "label_groups.groups"


def main() -> None:
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def render(current: str) -> str:
    """The page with a section per dataset."""
    check_datasets(DATASETS)
    sections = "\n".join(describe(name, source) for name, source in SOURCES.items())
    return MARKS.sub(lambda marks: f"{marks[1]}\n{sections}\n{marks[2]}", current)


def check_datasets(folder: Path) -> None:
    """Raise ``ValueError`` for a source without a reader, or settings of a reader without a source."""
    for name in SOURCES:
        if name not in READERS:
            raise ValueError(
                f"{name} has a Source and no reader: "
                "add it to READERS in src/losslab/data/readers/__init__.py"
            )
    for file in sorted(folder.glob("*.yml")):
        reader = (yaml.safe_load(file.read_text(encoding="utf-8")) or {}).get("reader", file.stem)
        if reader not in SOURCES and reader not in FILE_READERS:
            raise ValueError(
                f"{file.name}: its reader {reader!r} has no Source: "
                "add one to SOURCES in src/losslab/data/download/sources.py"
            )


def describe(name: str, source: Source) -> str:
    """The section of a dataset: description, licence, download, reader options, settings."""
    parts = [f"### {name}\n", f"{_sentence(source.about)} Licence: {source.licence}.\n"]
    parts += [_download_or_steps(name, source), _options(name), _settings(name)]
    return "\n".join(part for part in parts if part)


def _download_or_steps(name: str, source: Source) -> str:
    if source.ready:
        return f"Nothing to fetch: it {'is ' * source.ready.startswith('made')}{source.ready}.\n"
    if source.downloads:
        lines = [f"`kedro fetch {name}` downloads\n", *map(_download, source.downloads)]
    else:
        steps = [step.format(folder=f"`data/01_raw/{name}/`") for step in source.steps]
        lines = ["By hand:\n", *(f"{number}. {step}" for number, step in enumerate(steps, 1))]
    return "\n".join(lines) + "\n"


def _download(wanted: Download) -> str:
    digest = f"sha256 `{wanted.sha256}`" if wanted.sha256 else "sha256 unknown, logged"
    return f"- `{wanted.name}` from {' or '.join(f'<{a}>' for a in wanted.addresses)}; {digest}"


def _options(name: str) -> str:
    fields = reader_options(name).model_fields
    options = [_option(option, field) for option, field in fields.items()]
    return f"Options of its reader: {', '.join(options)}.\n" if options else ""


def _option(name: str, field: FieldInfo) -> str:
    """An option with its default and its other choices."""
    default = "null" if field.default is None else field.default
    choices = [value for value in get_args(field.annotation) if isinstance(value, str)]
    others = ", ".join(value for value in choices if value != default)
    return f"`corpus.{name}={default}`" + f" (or {others})" * bool(others)


def _settings(name: str) -> str:
    """What ``conf/datasets/<name>.yml`` sets."""
    file = DATASETS / f"{name}.yml"
    values = yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else None
    sweeps = ", ".join(f"`{sweep}`" for sweep in (values or {}).pop("sweeps", {}))
    settings = ", ".join(_setting(path, value) for path, value in _flat(values or {}))
    told = f"`--dataset={name}` sets {settings}.\n" if settings else ""
    return f"{told}\nSweeps of its own: {sweeps}.\n" if sweeps else told


def _setting(path: str, value: Any) -> str:
    if path == LISTED_GROUPS:
        return f"`{path}` ({len(value)} groups)"
    return f"`{path}={'null' if value is None else value}`"


def _flat(tree: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        path = f"{prefix}{key}"
        if isinstance(value, dict) and path != LISTED_GROUPS:
            yield from _flat(value, f"{path}.")
        else:
            yield path, value


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


if __name__ == "__main__":
    main()
