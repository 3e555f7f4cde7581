"""TREC question classification: ``COARSE:fine question words ?``, one per line, latin-1."""

import re
from functools import partial
from pathlib import Path
from typing import Literal

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import Collector, Document, RowFault, SourceLocation
from losslab.data.readers.raw_text import lines, require_file

FILES = {"train": "train_5500.label", "test": "TREC_10.label"}
COARSE = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
QUESTION = re.compile(r"(?P<fine>(?P<coarse>\w+):(?P<suffix>\w+))\s+(?P<text>.+)")


def read_trec(folder: Path, *, labels: Literal["fine", "coarse", "suffix"] = "fine") -> Corpus:
    """Read both files.

    ``labels``: ``fine`` (50, such as ``NUM:dist``), ``coarse`` (6, such as ``NUM``) or ``suffix``
    (47: the fine labels without prefix, as in the MaskLoss paper).
    """
    collector = Collector(folder)
    for split, name in FILES.items():
        rows = lines(require_file(folder / name), "latin-1")
        collector.gather(rows, partial(_question, split=split, labels=labels))
    return collector.corpus()


def _question(location: SourceLocation, line: str, *, split: str, labels: str) -> Document:
    match = QUESTION.fullmatch(line)
    if not match:
        raise RowFault("expected 'COARSE:fine question'")
    if match["coarse"] not in COARSE:
        raise RowFault(f"unknown label '{match['fine']}'")
    return Document(f"{split}-{location.line}", match["text"], [match[labels]], split)
