"""Web of Science abstracts: the data sheet, or the line files of the release.

The sheet is a TSV with the columns ``Domain`` and ``area``; ``X.txt`` has one abstract per line,
``Y.txt`` and ``YL1.txt`` the ids of its area and domain.
"""

from functools import partial
from pathlib import Path
from typing import Literal

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import Collector, Document, RowFault, SourceLocation
from losslab.data.readers.raw_text import csv_records, glob_first, parallel_lines

Labels = Literal["area", "domain", "both", "path"]
BOTH = ["Domain", "area"]
COLUMNS = {"area": ["area"], "domain": ["Domain"], "both": BOTH, "path": BOTH}
LINE_FILE = {"Domain": "YL1.txt", "area": "Y.txt"}


def read_wos(folder: Path, *, labels: Labels = "area") -> Corpus:
    """Read the data sheet if there is one, else the line files.

    ``labels``: ``area`` (134), ``domain`` (7), ``both``, or ``path``: domain and area as one label
    such as ``CS:Computer vision``.
    """
    collector = Collector(folder)
    columns = COLUMNS[labels]
    (path, *_) = glob_first(folder, "Data*.txt", "X.txt", "WOS46985/X.txt")
    if path.name == "X.txt":
        rows = parallel_lines(path, *(path.with_name(LINE_FILE[name]) for name in columns))
        collector.gather(rows, partial(_line, columns=columns, whole=labels == "path"))
    else:
        rows = csv_records(path, ["Abstract", *columns], delimiter="\t")
        collector.gather(rows, partial(_sheet_row, columns=columns, whole=labels == "path"))
    return collector.corpus(file=path.name)


def _sheet_row(
    location: SourceLocation, row: dict[str, str], *, columns: list[str], whole: bool
) -> Document:
    return _document(location, row["Abstract"], [row[name] for name in columns], whole)


def _line(
    location: SourceLocation, fields: list[str], *, columns: list[str], whole: bool
) -> Document:
    text, *numbers = fields
    for number in numbers:
        if not (number.isascii() and number.isdigit()):
            raise RowFault(f"unknown label id '{number[:60]}': expected a whole number")
    labels = [f"{name.lower()} {number}" for name, number in zip(columns, numbers, strict=True)]
    return _document(location, text, labels, whole)


def _document(location: SourceLocation, text: str, labels: list[str], whole: bool) -> Document:
    """A document with its labels, joined into one path if ``whole``."""
    names = [name.strip() for name in labels]
    if whole and all(names):  # the collector rejects empty labels
        names = [":".join(names)]
    return Document(f"row-{location.line}", text, names)
