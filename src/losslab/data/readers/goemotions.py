"""GoEmotions: text, comma-separated label ids and comment id, separated by tabs; quotes are literal."""

from functools import partial
from pathlib import Path

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import Collector, Document, RowFault, SourceLocation
from losslab.data.readers.raw_text import lines, names, require_file

FILES = {"train": "train.tsv", "validation": "dev.tsv", "test": "test.tsv"}


def read_goemotions(folder: Path) -> Corpus:
    """Read the three files; label ids count the lines of ``emotions.txt`` from 0."""
    emotions = names(folder / "emotions.txt")
    collector = Collector(folder)
    for split, name in FILES.items():
        rows = lines(require_file(folder / name))
        collector.gather(rows, partial(_comment, split=split, emotions=emotions))
    return collector.corpus()


def _comment(_: SourceLocation, line: str, *, split: str, emotions: list[str]) -> Document:
    fields = line.split("\t")
    if len(fields) != 3:
        raise RowFault(f"expected 3 fields, found {len(fields)}")
    text, ids, name = fields
    return Document(name, text, [_emotion(number, emotions) for number in ids.split(",")], split)


def _emotion(number: str, emotions: list[str]) -> str:
    names = {str(index): emotion for index, emotion in enumerate(emotions)}
    if number not in names:
        raise RowFault(f"unknown label id '{number[:60]}': expected 0 to {len(emotions) - 1}")
    return names[number]
