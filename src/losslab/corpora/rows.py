"""What raw files are read into on the way to a corpus: rows with their place, faults, documents."""

from pathlib import Path
from typing import Any, NamedTuple


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
