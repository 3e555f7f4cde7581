"""Web of Science abstracts: the data sheet, or the line files of the release.

The sheet is a TSV with ``Domain`` and ``area`` by name; ``X.txt`` holds an abstract a line, ``Y.txt``
and ``YL1.txt`` the numbers of its area and domain.
"""

from functools import partial
from pathlib import Path
from typing import Literal

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import Collector
from losslab.data.readers.raw_text import csv_records, matching, parallel_lines
from losslab.data.readers.rows import Document, Place, RowFault

Labels = Literal["area", "domain", "both", "path"]
BOTH = ["Domain", "area"]
COLUMNS = {"area": ["area"], "domain": ["Domain"], "both": BOTH, "path": BOTH}
LINE_FILE = {"Domain": "YL1.txt", "area": "Y.txt"}


def read_wos(folder: Path, *, labels: Labels = "area") -> Corpus:
    """Read the data sheet if there is one, otherwise the line files.

    ``area`` gives the 134 areas, ``domain`` the seven domains, ``both`` one of each a document,
    ``path`` the area after its domain, as in ``CS:Computer vision``.
    """
    collector = Collector(folder)
    columns = COLUMNS[labels]
    (path, *_) = matching(folder, "Data*.txt", "X.txt", "WOS46985/X.txt")
    if path.name == "X.txt":
        rows = parallel_lines(path, *(path.with_name(LINE_FILE[name]) for name in columns))
        collector.gather(rows, partial(_line, columns=columns, whole=labels == "path"))
    else:
        rows = csv_records(path, ["Abstract", *columns], delimiter="\t")
        collector.gather(rows, partial(_sheet_row, columns=columns, whole=labels == "path"))
    return collector.corpus(file=path.name)


def _sheet_row(place: Place, row: dict[str, str], *, columns: list[str], whole: bool) -> Document:
    return _document(place, row["Abstract"], [row[name] for name in columns], whole)


def _line(place: Place, fields: list[str], *, columns: list[str], whole: bool) -> Document:
    text, *numbers = fields
    for number in numbers:
        if not (number.isascii() and number.isdigit()):
            raise RowFault(f"unknown label id '{number[:60]}': expected a whole number")
    labels = [f"{name.lower()} {number}" for name, number in zip(columns, numbers, strict=True)]
    return _document(place, text, labels, whole)


def _document(place: Place, text: str, labels: list[str], whole: bool) -> Document:
    """The labels apart, or joined into the one of a path."""
    names = [name.strip() for name in labels]
    if whole and all(names):  # a collector rejects empty ones
        names = [":".join(names)]
    return Document(f"row-{place.line}", text, names)
