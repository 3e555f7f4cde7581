"""TREC question classification: ``COARSE:fine question words ?``, one question a line, latin-1."""

import re
from functools import partial
from pathlib import Path
from typing import Literal

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import Collector
from losslab.data.readers.raw_text import existing, lines
from losslab.data.readers.rows import Document, Place, RowFault

FILES = {"train": "train_5500.label", "test": "TREC_10.label"}
COARSE = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
QUESTION = re.compile(r"(?P<fine>(?P<coarse>\w+):(?P<suffix>\w+))\s+(?P<text>.+)")


def read_trec(folder: Path, *, labels: Literal["fine", "coarse", "suffix"] = "fine") -> Corpus:
    """Read both files.

    ``fine`` gives the 50 labels such as ``NUM:dist``, ``coarse`` the six such as ``NUM``, ``suffix``
    the 47 that remain of the fine ones without their prefix, as in the MaskLoss paper.
    """
    collector = Collector(folder)
    for split, name in FILES.items():
        rows = lines(existing(folder / name), "latin-1")
        collector.gather(rows, partial(_question, split=split, labels=labels))
    return collector.corpus()


def _question(place: Place, line: str, *, split: str, labels: str) -> Document:
    match = QUESTION.fullmatch(line)
    if not match:
        raise RowFault("expected 'COARSE:fine question'")
    if match["coarse"] not in COARSE:
        raise RowFault(f"unknown label '{match['fine']}'")
    return Document(f"{split}-{place.line}", match["text"], [match[labels]], split)
