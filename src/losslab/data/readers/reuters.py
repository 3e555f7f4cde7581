"""Reuters-21578 with the ModApte split, as SGML in ``reut2-*.sgm``.

The files are SGML, not XML, with control characters, hence regular expressions. The text is title
and body, or the whole text of an unprocessed article (TYPE="UNPROC", without tags).
"""

import html
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import (
    Collector,
    Document,
    ExcludedByRule,
    Row,
    RowFault,
    SourceLocation,
    text_fault,
)
from losslab.data.readers.raw_text import glob_first, require_file, text_lines
from losslab.errors import CorpusError

ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.DOTALL)
TOPIC = re.compile(r"<D>(.*?)</D>")
TEXT = re.compile(r"<TEXT[^>]*>(.*?)</TEXT>", re.DOTALL)
PARTS = re.compile(r"<(TITLE|BODY)>(.*?)</\1>", re.DOTALL)
SPLITS = {"TRAIN": "train", "TEST": "test"}
DROPPED = "1199"


class Article(NamedTuple):
    """The fields that the ModApte rule reads."""

    newid: str
    split: str
    topics: list[str]
    text: str


def read_reuters(folder: Path) -> Corpus:
    """Read all files and apply the ModApte rule.

    Kept are the articles of Lewis's train and test sets with TOPICS="YES" and a topic that occurs
    in both sets, except NEWID 1199.
    """
    rows = [
        row for path in glob_first(folder, "reut2-*.sgm") for row in _articles(require_file(path))
    ]
    shared = _topics(rows, "train") & _topics(rows, "test")
    collector = Collector(folder)
    collector.gather(rows, partial(_document, shared=shared))
    return collector.corpus()


def _topics(rows: list[Row], split: str) -> set[str]:
    articles = [article for _, article in rows if isinstance(article, Article)]
    return {topic for article in articles if article.split == split for topic in article.topics}


def _document(_: SourceLocation, article: Article, *, shared: set[str]) -> Document:
    labels = [topic for topic in article.topics if topic in shared]
    if not labels:
        raise ExcludedByRule("no topic that occurs in train and test")
    if article.newid == DROPPED:
        raise ExcludedByRule(f"NEWID {DROPPED}")
    return Document(article.newid, article.text, labels, article.split)


def _articles(path: Path) -> Iterator[Row]:
    """The articles of a file, with faults and exclusions."""
    head, *pieces = "".join(text_lines(path, "latin-1", newline="\n")).split("<REUTERS")
    if not pieces:
        raise CorpusError(f"{path}, line 1: expected <REUTERS ...>, found {head[:60]!r}")
    line = 1 + head.count("\n")
    for piece in pieces:
        yield SourceLocation(path, line), _article(piece)
        line += piece.count("\n")


def _article(piece: str) -> Article | RowFault | ExcludedByRule:
    tag, _, rest = piece.partition(">")
    attributes = dict(ATTRIBUTE.findall(tag))
    topics, text = TOPICS.search(rest), TEXT.search(rest)
    if "</REUTERS>" not in rest or not topics or not text:
        return RowFault("article is truncated")
    if not {"NEWID", "TOPICS", "LEWISSPLIT"} <= attributes.keys():
        return RowFault("expected the attributes NEWID, TOPICS and LEWISSPLIT")
    if attributes["TOPICS"] != "YES" or attributes["LEWISSPLIT"] not in SPLITS:
        return ExcludedByRule("outside the ModApte split")
    parts = "\n".join(part for _, part in PARTS.findall(text[1])) or text[1]
    return text_fault(parts) or Article(
        attributes["NEWID"],
        SPLITS[attributes["LEWISSPLIT"]],
        [html.unescape(topic) for topic in TOPIC.findall(topics[1])],
        html.unescape(parts),
    )
