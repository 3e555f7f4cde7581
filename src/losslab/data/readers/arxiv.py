"""The arXiv metadata snapshot: JSON lines with title, abstract and space-joined categories."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import Collector
from losslab.data.readers.raw_text import json_lines, matching
from losslab.data.readers.rows import Document, Place, joined, plain


def read_arxiv(
    folder: Path,
    *,
    part: Literal["title", "abstract", "both"] = "both",
    labels: Literal["category", "archive"] = "category",
) -> Corpus:
    """Read the snapshot; ``category`` gives labels such as ``cs.LG``, ``archive`` such as ``cs``."""
    collector = Collector(folder)
    for path in matching(folder, "arxiv-metadata*.json", "*.json"):
        collector.gather(json_lines(path), partial(_article, part=part, labels=labels))
    return collector.corpus()


def _article(_: Place, record: Mapping[str, Any], *, part: str, labels: str) -> Document:
    wanted = ("title", "abstract") if part == "both" else (part,)
    text = joined(*(" ".join(plain(record, name).split()) for name in wanted))
    names = plain(record, "categories").split()
    chosen = names if labels == "category" else [name.split(".")[0] for name in names]
    return Document(plain(record, "id"), text, chosen)
