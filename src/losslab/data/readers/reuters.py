"""Reuters-21578 with the ModApte split, as SGML in ``reut2-*.sgm``.

The files are SGML rather than XML and hold control characters, hence the patterns. A document's
text is its title and body; of an unprocessed one (TYPE="UNPROC", without tags) it is all there is.
"""

import html
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import Collector
from losslab.data.readers.raw_text import existing, matching, text_fault, text_lines
from losslab.data.readers.rows import Document, LeftOut, Place, Row, RowFault
from losslab.errors import CorpusError

ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.DOTALL)
TOPIC = re.compile(r"<D>(.*?)</D>")
TEXT = re.compile(r"<TEXT[^>]*>(.*?)</TEXT>", re.DOTALL)
PARTS = re.compile(r"<(TITLE|BODY)>(.*?)</\1>", re.DOTALL)
SPLITS = {"TRAIN": "train", "TEST": "test"}
DROPPED = "1199"


class Article(NamedTuple):
    """What the ModApte rule looks at."""

    newid: str
    split: str
    topics: list[str]
    text: str


def read_reuters(folder: Path) -> Corpus:
    """Read all files and apply the ModApte rule.

    Of the articles of Lewis's train and test sets with TOPICS="YES", those stay that have a topic
    which occurs in both sets; NEWID 1199 is dropped.
    """
    rows = [row for path in matching(folder, "reut2-*.sgm") for row in _articles(existing(path))]
    shared = _topics(rows, "train") & _topics(rows, "test")
    collector = Collector(folder)
    collector.gather(rows, partial(_document, shared=shared))
    return collector.corpus()


def _topics(rows: list[Row], split: str) -> set[str]:
    articles = [article for _, article in rows if isinstance(article, Article)]
    return {topic for article in articles if article.split == split for topic in article.topics}


def _document(_: Place, article: Article, *, shared: set[str]) -> Document:
    labels = [topic for topic in article.topics if topic in shared]
    if not labels:
        raise LeftOut("no topic that occurs in train and test")
    if article.newid == DROPPED:
        raise LeftOut(f"NEWID {DROPPED}")
    return Document(article.newid, article.text, labels, article.split)


def _articles(path: Path) -> Iterator[Row]:
    """Each article of a file, or why there is none."""
    head, *pieces = "".join(text_lines(path, "latin-1", newline="\n")).split("<REUTERS")
    if not pieces:
        raise CorpusError(f"{path}, line 1: expected <REUTERS ...>, found {head[:60]!r}")
    line = 1 + head.count("\n")
    for piece in pieces:
        yield Place(path, line), _article(piece)
        line += piece.count("\n")


def _article(piece: str) -> Article | RowFault | LeftOut:
    tag, _, rest = piece.partition(">")
    attributes = dict(ATTRIBUTE.findall(tag))
    topics, text = TOPICS.search(rest), TEXT.search(rest)
    if "</REUTERS>" not in rest or not topics or not text:
        return RowFault("article is cut short")
    if not {"NEWID", "TOPICS", "LEWISSPLIT"} <= attributes.keys():
        return RowFault("expected the attributes NEWID, TOPICS and LEWISSPLIT")
    if attributes["TOPICS"] != "YES" or attributes["LEWISSPLIT"] not in SPLITS:
        return LeftOut("outside the ModApte split")
    parts = "\n".join(part for _, part in PARTS.findall(text[1])) or text[1]
    return text_fault(parts) or Article(
        attributes["NEWID"],
        SPLITS[attributes["LEWISSPLIT"]],
        [html.unescape(topic) for topic in TOPIC.findall(topics[1])],
        html.unescape(parts),
    )
