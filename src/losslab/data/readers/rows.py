"""What raw files are read into on the way to a corpus: rows with their place, faults, documents."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

SPLIT_NAMES = {
    "train": "train",
    "training": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "test": "test",
}
"""What corpora call the splits, and what we do."""


class Place(NamedTuple):
    """Where a row begins."""

    path: Path
    line: int

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}"


class RowFault(ValueError):  # noqa: N818 - a reason told in a table; it stops nothing
    """Why a row is set aside."""


class LeftOut(Exception):  # noqa: N818 - no error, but a rule
    """A sound row that the corpus's own rule leaves out; its text names the rule."""


Row = tuple[Place, Any]
"""A row, or the RowFault or LeftOut in its stead."""


class Document(NamedTuple):
    """A row of ``Corpus.documents``."""

    id: str
    text: str
    labels: list[str]
    split: str | None = None


def split_of(path: Path) -> str | None:
    """The split that a file's name tells.

    >>> split_of(Path("Train_sample.json")), split_of(Path("dev-v1.1.json")), split_of(Path("x.csv"))
    ('train', 'validation', None)
    """
    words = re.split(r"[^a-z]+", path.name.lower())
    return next((SPLIT_NAMES[word] for word in words if word in SPLIT_NAMES), None)


def plain(record: Mapping[str, Any], name: str) -> str:
    """A field of a JSON object as a string; raise RowFault if it is missing or of another kind."""
    if name not in record:
        raise RowFault(f"no field '{name}'")
    return plain_value(record[name], name)


def plain_value(value: Any, name: str) -> str:
    """A string or a whole number as a string; raise RowFault for anything else."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise RowFault(f"field '{name}': expected a string, found {str(value)[:60]!r}")
    return str(value)


def plain_list(record: Mapping[str, Any], name: str) -> list[str]:
    """A field of a JSON object that is a list of strings or whole numbers."""
    if name not in record:
        raise RowFault(f"no field '{name}'")
    if not isinstance(record[name], list):
        raise RowFault(f"field '{name}': expected a list, found {str(record[name])[:60]!r}")
    return [plain_value(value, name) for value in record[name]]


def joined(*parts: str) -> str:
    """The parts of a text that are not blank, line by line."""
    return "\n".join(part.strip() for part in parts if part.strip())
