"""Web of Science abstracts: the data sheet, or the line files of the release.

The sheet is a TSV with ``Domain`` and ``area`` by name; ``X.txt`` holds an abstract a line, ``Y.txt``
and ``YL1.txt`` the numbers of its area and domain.
"""

from functools import partial
from pathlib import Path
from typing import Literal

from losslab.corpora.collector import Collector
from losslab.corpora.corpus import Corpus
from losslab.corpora.raw_text import csv_records, matching, parallel_lines
from losslab.corpora.rows import Document, Place, RowFault

Labels = Literal["area", "domain", "both"]
COLUMNS = {"area": ["area"], "domain": ["Domain"], "both": ["Domain", "area"]}
LINE_FILES = {"area": ["Y.txt"], "domain": ["YL1.txt"], "both": ["YL1.txt", "Y.txt"]}


def read_wos(folder: Path, *, labels: Labels = "area") -> Corpus:
    """Read the data sheet if there is one, otherwise the line files.

    ``area`` gives the 134 areas, ``domain`` the seven domains, ``both`` one of each a document.
    """
    collector = Collector(folder)
    (path, *_) = matching(folder, "Data*.txt", "X.txt")
    if path.name == "X.txt":
        files = LINE_FILES[labels]
        rows = parallel_lines(path, *(folder / name for name in files))
        collector.gather(rows, partial(_line, files=files))
    else:
        columns = COLUMNS[labels]
        rows = csv_records(path, ["Abstract", *columns], delimiter="\t")
        collector.gather(rows, partial(_sheet_row, columns=columns))
    return collector.corpus(file=path.name)


def _sheet_row(place: Place, row: dict[str, str], *, columns: list[str]) -> Document:
    return Document(f"row-{place.line}", row["Abstract"], [row[name] for name in columns])


def _line(place: Place, fields: list[str], *, files: list[str]) -> Document:
    text, *numbers = fields
    for number in numbers:
        if not (number.isascii() and number.isdigit()):
            raise RowFault(f"unknown label id '{number[:60]}': expected a whole number")
    labels = [
        f"domain {number}" if name == "YL1.txt" else f"area {number}"
        for name, number in zip(files, numbers, strict=True)
    ]
    return Document(f"row-{place.line}", text, labels)
