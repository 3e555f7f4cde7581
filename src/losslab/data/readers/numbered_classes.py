"""AG News, DBpedia and Yelp: CSV without header; a class id from 1, then the parts of the text."""

from functools import partial
from pathlib import Path

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import (
    Collector,
    Document,
    RowFault,
    SourceLocation,
    join_parts,
    split_of,
)
from losslab.data.readers.raw_text import csv_rows, glob_first, names, require_file

NEWLINES = {"\\": "\n"}
YELP_ESCAPES = {"\\n": "\n", '\\"': '"'}


def read_ag_news(folder: Path) -> Corpus:
    """Read AG News: class, title, description; a backslash is a line break."""
    return _read(folder, parts=2, escapes=NEWLINES)


def read_dbpedia(folder: Path) -> Corpus:
    """Read DBpedia: class, title, abstract."""
    return _read(folder, parts=2, escapes=NEWLINES)


def read_yelp(folder: Path) -> Corpus:
    """Read Yelp: class, review; the class names are the numbers of stars."""
    return _read(folder, parts=1, escapes=YELP_ESCAPES)


def _read(folder: Path, *, parts: int, escapes: dict[str, str]) -> Corpus:
    """Read ``train.csv`` and ``test.csv``, or the one that exists; ``classes.txt`` has class names."""
    names_file = folder / "classes.txt"
    classes = names(names_file) if names_file.exists() else None
    collector = Collector(folder)
    both = (folder / "train.csv", folder / "test.csv")
    files = [path for path in both if path.exists()] or glob_first(folder, "train.csv", "test.csv")
    for path in files:
        parse = partial(_item, parts=parts, escapes=escapes, classes=classes)
        collector.gather(csv_rows(require_file(path)), parse)
    return collector.corpus(files=[path.name for path in files])


def _item(
    location: SourceLocation,
    fields: list[str],
    *,
    parts: int,
    escapes: dict[str, str],
    classes: list[str] | None,
) -> Document:
    if len(fields) != 1 + parts:
        raise RowFault(f"expected {1 + parts} fields, found {len(fields)}")
    text = join_parts(*fields[1:])
    for escape, meaning in escapes.items():
        text = text.replace(escape, meaning)
    label = _class_name(fields[0].strip(), classes)
    return Document(f"{location.path.stem}-{location.line}", text, [label], split_of(location.path))


def _class_name(number: str, classes: list[str] | None) -> str:
    highest = 99 if classes is None else len(classes)
    if not (number.isascii() and number.isdigit() and 1 <= int(number[:9]) <= highest):
        raise RowFault(f"unknown label id '{number[:60]}': expected 1 to {highest}")
    return str(int(number)) if classes is None else classes[int(number) - 1]
