"""CSV corpora with a column of 0 and 1 per label: Toxic comments and the six-subject Archive."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import Collector, Document, SourceLocation, join_parts
from losslab.data.readers.label_cells import one_hot
from losslab.data.readers.raw_text import csv_records, glob_first

TOXIC = ("toxic", "severe_toxic", "obscene", "threat", "insult", "identity_hate")
SUBJECTS = (
    "Computer Science",
    "Physics",
    "Mathematics",
    "Statistics",
    "Quantitative Biology",
    "Quantitative Finance",
)


def read_toxic(folder: Path, *, files: str = "**/train*.csv") -> Corpus:
    """Read Jigsaw's toxic comments from the files of a glob pattern.

    The competition's ``test.csv`` has no labels.
    """
    return _read(folder, files, "id", ["comment_text"], TOXIC)


def read_archive(
    folder: Path,
    *,
    part: Literal["title", "abstract", "both"] = "both",
    files: str = "**/train*.csv",
) -> Corpus:
    """Read the research papers of six subjects; the text is ``part`` of a paper."""
    columns = {"title": ["TITLE"], "abstract": ["ABSTRACT"], "both": ["TITLE", "ABSTRACT"]}
    return _read(folder, files, "ID", columns[part], SUBJECTS)


def _read(folder: Path, files: str, name: str, text: list[str], labels: Sequence[str]) -> Corpus:
    def document(_: SourceLocation, row: dict[str, str]) -> Document:
        carried = [label for label in labels if one_hot(row[label], label)]
        return Document(row[name], join_parts(*(row[column] for column in text)), carried)

    collector = Collector(folder)
    for path in glob_first(folder, files):
        collector.gather(csv_records(path, [name, *text, *labels]), document)
    return collector.corpus()
