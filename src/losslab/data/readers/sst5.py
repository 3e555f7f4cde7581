"""Stanford Sentiment Treebank, five classes: one PTB tree per line, labelled by its root."""

import re
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import Collector, Document, RowFault, SourceLocation
from losslab.data.readers.raw_text import glob_first, lines, require_file

FILES = {"train": "train.txt", "validation": "dev.txt", "test": "test.txt"}
LABELS = ("very negative", "negative", "neutral", "positive", "very positive")
ESCAPES = {"-LRB-": "(", "-RRB-": ")", r"\/": "/", r"\*": "*"}
PIECE = re.compile(r"\(|\)|[^\s()]+")


def read_sst5(folder: Path) -> Corpus:
    """Read the three files of ``trees/``."""
    collector = Collector(folder)
    for split, name in FILES.items():
        (path,) = glob_first(folder, f"trees/{name}", name)
        collector.gather(lines(require_file(path)), partial(_sentence, split=split))
    return collector.corpus()


def _sentence(location: SourceLocation, line: str, *, split: str) -> Document:
    root, words = parse_tree(line)
    return Document(f"{split}-{location.line}", " ".join(words), [LABELS[root]], split)


def parse_tree(tree: str) -> tuple[int, list[str]]:
    """The root's class and the words of a tree; raise RowFault for an incomplete tree.

    >>> parse_tree("(3 (2 A) (4 gem))")
    (3, ['A', 'gem'])
    """
    pieces = PIECE.findall(tree)
    depths = list(accumulate({"(": 1, ")": -1}.get(piece, 0) for piece in pieces))
    if 0 not in depths or depths.index(0) != len(depths) - 1 or pieces[0] != "(":
        raise RowFault("expected one tree, found unbalanced brackets")
    pairs = list(pairwise(pieces))
    classes = [piece for before, piece in pairs if before == "("]
    if not set(classes) <= set("01234"):
        raise RowFault("unknown label: expected a class of 0 to 4 after each bracket")
    leaves = [piece for before, piece in pairs if before != "(" and piece not in ("(", ")")]
    return int(classes[0]), [_unescape(word) for word in leaves]


def _unescape(word: str) -> str:
    for escape, character in ESCAPES.items():
        word = word.replace(escape, character)
    return word
