"""IMDb reviews: ``{train,test}/{pos,neg}/ID_rating.txt``, one review per file."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import Collector, Document, Row, SourceLocation
from losslab.data.readers.raw_text import glob_first, text_lines

LINE_BREAK = "<br />"


def read_imdb(folder: Path) -> Corpus:
    """Read the labelled reviews; unlabelled ones (``train/unsup``) are excluded."""
    collector = Collector(folder)
    for split in ("train", "test"):
        for label in ("pos", "neg"):
            paths = glob_first(folder, f"{split}/{label}/*.txt")
            collector.gather(_reviews(paths), partial(_review, split=split, label=label))
    unlabelled = sum(1 for _ in folder.glob("train/unsup/*.txt"))
    if unlabelled:
        collector.exclude("no label", unlabelled)
    return collector.corpus()


def _reviews(paths: list[Path]) -> Iterator[Row]:
    for path in paths:
        yield SourceLocation(path, 1), "".join(text_lines(path, "utf-8", newline="\n"))


def _review(location: SourceLocation, text: str, *, split: str, label: str) -> Document:
    name = f"{split}-{label}-{location.path.stem}"
    return Document(name, text.replace(LINE_BREAK, "\n"), [label], split)
