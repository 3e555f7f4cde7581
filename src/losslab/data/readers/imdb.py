"""IMDb reviews: ``{train,test}/{pos,neg}/ID_rating.txt``, a review a file."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import Collector
from losslab.data.readers.raw_text import matching, text_lines
from losslab.data.readers.rows import Document, Place, Row

LINE_BREAK = "<br />"


def read_imdb(folder: Path) -> Corpus:
    """Read the labelled reviews; those without a label (``train/unsup``) are left out."""
    collector = Collector(folder)
    for split in ("train", "test"):
        for label in ("pos", "neg"):
            paths = matching(folder, f"{split}/{label}/*.txt")
            collector.gather(_reviews(paths), partial(_review, split=split, label=label))
    unlabelled = sum(1 for _ in folder.glob("train/unsup/*.txt"))
    if unlabelled:
        collector.leave_out("no label", unlabelled)
    return collector.corpus()


def _reviews(paths: list[Path]) -> Iterator[Row]:
    for path in paths:
        yield Place(path, 1), "".join(text_lines(path, "utf-8", newline="\n"))


def _review(place: Place, text: str, *, split: str, label: str) -> Document:
    name = f"{split}-{label}-{place.path.stem}"
    return Document(name, text.replace(LINE_BREAK, "\n"), [label], split)
