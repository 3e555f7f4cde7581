"""GoEmotions: comments with emotions, aggregated by the publisher, or each rater's own answers.

The aggregated files have text, comma-separated label ids and comment id, separated by tabs; quotes
are literal. The raw ones are CSV, a row per comment and rater, with a column of 0 and 1 per emotion.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import (
    Collector,
    Document,
    ExcludedByRule,
    Row,
    RowFault,
    SourceLocation,
)
from losslab.data.readers.label_cells import one_hot
from losslab.data.readers.raw_text import csv_records, lines, names, require_file
from losslab.errors import CorpusError

FILES = {"train": "train.tsv", "validation": "dev.tsv", "test": "test.tsv"}
RAW_FILES = "goemotions_*.csv"
UNCLEAR = "example_very_unclear"
COLUMNS = ("text", "id", "rater_id", UNCLEAR)
"""Columns of the raw files that are read; those of the emotions follow ``UNCLEAR``."""


class Rating(NamedTuple):
    """What one rater said of a comment."""

    comment: str
    text: str
    rater: str
    labels: list[str]
    unclear: bool


def read_goemotions(
    folder: Path,
    *,
    annotations: Literal["filtered", "raw", "ratings"] = "filtered",
    min_raters: Annotated[int, Field(ge=1, strict=True)] = 2,
) -> Corpus:
    """Read the three aggregated files, or the raw ones, which prescribe no split.

    Args:
        folder: of the raw files.
        annotations: ``filtered``: the publisher's files, their split, and labels that at least two
            raters chose. ``raw``: a document per comment of the raw files, with the labels that at
            least ``min_raters`` chose; ratings marked as very unclear count for nothing, and
            comments without a label are left out. ``ratings``: a document per rating, unclear ones
            without labels included, as the 211,225 of the ZLPR paper; ids are
            ``<comment>-<rater>``.
        min_raters: of a label of ``raw``; the other two take no notice of it.
    """
    collector = Collector(folder)
    if annotations == "filtered":
        emotions = names(folder / "emotions.txt")
        for split, name in FILES.items():
            rows = lines(require_file(folder / name))
            collector.gather(rows, partial(_comment, split=split, emotions=emotions))
    else:
        rated = _ratings(folder)
        documents = rated if annotations == "ratings" else _agreed(rated, min_raters)
        collector.gather(documents, lambda _, row: _rated(row) if isinstance(row, Rating) else row)
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


def _ratings(folder: Path) -> Iterator[Row]:
    """The ratings of all raw files."""
    paths = sorted(folder.glob(RAW_FILES))
    if not paths:
        raise CorpusError(
            f"{folder}: no file {RAW_FILES}; `kedro fetch goemotions --force` downloads them, "
            "without LOSSLAB_MIRROR if the mirror lacks them"
        )
    for path in paths:
        for location, record in csv_records(path, COLUMNS):
            yield location, record if isinstance(record, RowFault) else _rating(record)


def _rating(record: dict[str, str]) -> Rating | RowFault:
    columns = list(record)
    emotions = columns[columns.index(UNCLEAR) + 1 :]
    try:
        labels = [name for name in emotions if one_hot(record[name], name)]
        unclear = one_hot(record[UNCLEAR], UNCLEAR)
    except RowFault as fault:
        return fault
    return Rating(record["id"].strip(), record["text"], record["rater_id"].strip(), labels, unclear)


def _rated(rating: Rating) -> Document:
    return Document(f"{rating.comment}-{rating.rater}", rating.text, rating.labels)


def _agreed(ratings: Iterable[Row], min_raters: int) -> Iterator[Row]:
    """A document per comment, at its first rating, with the labels of at least ``min_raters``."""
    first: dict[str, tuple[SourceLocation, str]] = {}
    raters: dict[str, dict[str, set[str]]] = {}
    for location, rating in ratings:
        if isinstance(rating, RowFault):
            yield location, rating
        elif rating.unclear:
            yield location, ExcludedByRule("rating marked as very unclear")
        else:
            first.setdefault(rating.comment, (location, rating.text))
            votes = raters.setdefault(rating.comment, {})
            for label in rating.labels:
                votes.setdefault(label, set()).add(rating.rater)
    for comment, (location, text) in first.items():
        labels = sorted(name for name, who in raters[comment].items() if len(who) >= min_raters)
        rule = ExcludedByRule(f"comment without a label that {min_raters} raters chose")
        yield location, Document(comment, text, labels) if labels else rule
