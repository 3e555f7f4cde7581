"""Toutiao headlines: ``id|,|category,category|,|title|,|keywords|,|label``, one per line."""

from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import Field

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import Collector, Document, RowFault, SourceLocation
from losslab.data.readers.raw_text import glob_first, lines, names, require_file

SEPARATOR = "|,|"


def read_toutiao(folder: Path, *, depth: Annotated[int, Field(ge=1)] | None = None) -> Corpus:
    """Read ``mlc*.txt``; ``all_cat.txt``, if present, lists the valid categories.

    ``depth``: levels to keep of category paths such as ``digital/computer/laptop``.
    """
    categories_file = folder / "all_cat.txt"
    valid = set(names(categories_file)) if categories_file.exists() else None
    collector = Collector(folder)
    for path in glob_first(folder, "mlc*.txt", "[!a]*.txt"):
        collector.gather(lines(require_file(path)), partial(_headline, depth=depth, valid=valid))
    return collector.corpus()


def _headline(
    _: SourceLocation, line: str, *, depth: int | None, valid: set[str] | None
) -> Document:
    fields = line.split(SEPARATOR)
    if len(fields) != 5:
        raise RowFault(f"expected 5 fields, found {len(fields)}")
    categories = [name.strip() for name in fields[1].split(",") if name.strip()]
    for name in categories:
        if valid is not None and name not in valid:
            raise RowFault(f"unknown label '{name[:60]}': not in all_cat.txt")
    labels = ["/".join(name.split("/")[:depth]) for name in categories]
    return Document(fields[0], fields[2], labels)
