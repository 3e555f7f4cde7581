"""The arXiv metadata snapshot: JSON lines with title, abstract and space-separated categories."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import (
    Collector,
    Document,
    SourceLocation,
    join_parts,
    str_field,
)
from losslab.data.readers.raw_text import glob_first, json_lines


def read_arxiv(
    folder: Path,
    *,
    part: Literal["title", "abstract", "both"] = "both",
    labels: Literal["category", "archive"] = "category",
) -> Corpus:
    """Read the snapshot; ``category`` gives labels such as ``cs.LG``, ``archive`` such as ``cs``."""
    collector = Collector(folder)
    for path in glob_first(folder, "arxiv-metadata*.json", "*.json"):
        collector.gather(json_lines(path), partial(_article, part=part, labels=labels))
    return collector.corpus()


def _article(_: SourceLocation, record: Mapping[str, Any], *, part: str, labels: str) -> Document:
    fields = ("title", "abstract") if part == "both" else (part,)
    text = join_parts(*(" ".join(str_field(record, name).split()) for name in fields))
    names = str_field(record, "categories").split()
    if labels == "archive":
        names = [name.split(".")[0] for name in names]
    return Document(str_field(record, "id"), text, names)
