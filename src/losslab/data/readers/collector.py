"""What readers share: rows with their location, faults, field access, the collector of documents."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from losslab.data.corpus import Corpus
from losslab.data.images import ImageFault, ImageFile, find_image

SPLIT_NAMES = {
    "train": "train",
    "training": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "test": "test",
}
"""Names of splits in raw files, and ours."""


class SourceLocation(NamedTuple):
    """File and first line of a row."""

    path: Path
    line: int

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}"


class RowFault(ValueError):  # noqa: N818 - recorded per row, does not end the reading
    """Why a row is rejected."""


class ExcludedByRule(Exception):  # noqa: N818 - not an error
    """A valid row that a rule of the corpus excludes; the message names the rule."""


Row = tuple[SourceLocation, Any]
"""A row, or its RowFault or ExcludedByRule."""


class Document(NamedTuple):
    """A row of ``Corpus.documents``; ``image`` where documents are images."""

    id: str
    text: str
    labels: list[str]
    split: str | None = None
    image: ImageFile | None = None


class Collector:
    """Collects documents, rejected rows with their location, and counts of excluded rows."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._documents: list[tuple[str, str, list[str], str | None]] = []
        self._images: list[ImageFile] = []
        self._locations: dict[str, SourceLocation] = {}
        self._rejected: list[tuple[str, int, str]] = []
        self._excluded: Counter[str] = Counter()

    def gather(self, rows: Iterable[Row], parse: Callable[[SourceLocation, Any], Document]) -> None:
        """Parse and add each row; ``parse`` may raise RowFault or ExcludedByRule."""
        for location, row in rows:
            try:
                if isinstance(row, RowFault | ExcludedByRule):
                    raise row
                self.add(location, parse(location, row))
            except RowFault as fault:
                self.reject(location, str(fault))
            except ExcludedByRule as rule:
                self.exclude(str(rule))

    def add(self, location: SourceLocation, document: Document) -> None:
        """Add a document; raise RowFault for an empty text or label, or a duplicate id."""
        name, text = document.id.strip(), document.text.strip()
        labels = list(dict.fromkeys(label.strip() for label in document.labels))
        if not text:
            raise RowFault("empty text")
        if not name or not all(labels):
            raise RowFault("empty label" if name else "empty id")
        fault = text_fault("".join((name, text, *labels)))
        if fault:
            raise fault
        if name in self._locations:
            first = self._describe(self._locations[name])
            raise RowFault(f"duplicate id '{name}', first at {first}")
        self._locations[name] = location
        self._documents.append((name, text, labels, document.split))
        if document.image is not None:
            self._images.append(document.image)

    def __contains__(self, name: str) -> bool:
        """Whether a document of this id was added."""
        return name in self._locations

    def reject(self, location: SourceLocation, reason: str) -> None:
        """Record a rejected row."""
        self._rejected.append((self._relative(location.path), location.line, reason))

    def exclude(self, rule: str, rows: int = 1) -> None:
        """Count valid rows that a rule of the corpus excludes."""
        self._excluded[rule] += rows

    def corpus(self, **notes: Any) -> Corpus:
        """The corpus of all rows so far, with notes."""
        notes["excluded"] = dict(self._excluded)
        return Corpus.of(self._documents, self._rejected, notes, self._images or None)

    def image(self, folder: Path, name: str) -> ImageFile:
        """The image ``name`` of ``folder``; raise RowFault where it is none."""
        try:
            return find_image(folder, name, raw_files=self._folder)
        except ImageFault as fault:
            raise RowFault(str(fault)) from None

    def _relative(self, path: Path) -> str:
        inside = path.is_relative_to(self._folder)
        return (path.relative_to(self._folder) if inside else path).as_posix()

    def _describe(self, location: SourceLocation) -> str:
        return f"{self._relative(location.path)}, line {location.line}"


def text_fault(text: str) -> RowFault | None:
    """Why a text cannot be stored as UTF-8: a NUL byte or a surrogate; None if it can."""
    if "\0" in text:
        return RowFault("NUL byte")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        name = f"byte 0x{code - 0xDC00:02X}" if 0xDC80 <= code <= 0xDCFF else f"U+{code:04X}"
        return RowFault(f"wrong encoding: {name} at character {error.start + 1}")
    return None


def split_of(path: Path) -> str | None:
    """The split in a file's name.

    >>> split_of(Path("Train_sample.json")), split_of(Path("dev-v1.1.json")), split_of(Path("x.csv"))
    ('train', 'validation', None)
    """
    words = re.split(r"[^a-z]+", path.name.lower())
    return next((SPLIT_NAMES[word] for word in words if word in SPLIT_NAMES), None)


def str_field(record: Mapping[str, Any], name: str) -> str:
    """A string or integer field of a JSON object; raise RowFault if missing or of another type."""
    if name not in record:
        raise RowFault(f"no field '{name}'")
    return str_value(record[name], name)


def str_value(value: Any, name: str) -> str:
    """A string or integer as a string; raise RowFault for another type."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise RowFault(f"field '{name}': expected a string, found {str(value)[:60]!r}")
    return str(value)


def str_list_field(record: Mapping[str, Any], name: str) -> list[str]:
    """A field of a JSON object that is a list of strings or integers."""
    if name not in record:
        raise RowFault(f"no field '{name}'")
    if not isinstance(record[name], list):
        raise RowFault(f"field '{name}': expected a list, found {str(record[name])[:60]!r}")
    return [str_value(value, name) for value in record[name]]


def join_parts(*parts: str) -> str:
    """The non-blank parts of a text, one per line."""
    return "\n".join(part.strip() for part in parts if part.strip())
