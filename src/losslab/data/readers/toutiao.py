"""Toutiao headlines: ``id|,|category,category|,|title|,|keywords|,|label``, a headline a line."""

from functools import partial
from pathlib import Path
from typing import Annotated

from pydantic import Field

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import Collector
from losslab.data.readers.raw_text import existing, lines, matching, names
from losslab.data.readers.rows import Document, Place, RowFault

SEPARATOR = "|,|"


def read_toutiao(folder: Path, *, depth: Annotated[int, Field(ge=1)] | None = None) -> Corpus:
    """Read ``mlc*.txt``; ``all_cat.txt``, where it is, lists the categories that there are.

    ``depth`` cuts category paths such as ``digital/computer/laptop`` to so many levels.
    """
    listed = folder / "all_cat.txt"
    known = set(names(listed)) if listed.exists() else None
    collector = Collector(folder)
    for path in matching(folder, "mlc*.txt", "[!a]*.txt"):
        collector.gather(lines(existing(path)), partial(_headline, depth=depth, known=known))
    return collector.corpus()


def _headline(_: Place, line: str, *, depth: int | None, known: set[str] | None) -> Document:
    fields = line.split(SEPARATOR)
    if len(fields) != 5:
        raise RowFault(f"expected 5 fields, found {len(fields)}")
    categories = [name.strip() for name in fields[1].split(",") if name.strip()]
    for name in categories:
        if known is not None and name not in known:
            raise RowFault(f"unknown label '{name[:60]}': not in all_cat.txt")
    labels = ["/".join(name.split("/")[:depth]) for name in categories]
    return Document(fields[0], fields[2], labels)
