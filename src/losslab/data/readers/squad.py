"""SQuAD 1.1 for retrieval: documents are the sentences of its paragraphs, labelled by article.

A file is one JSON document, so the line of a location is the number of the paragraph.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import (
    Collector,
    Document,
    RowFault,
    SourceLocation,
    split_of,
    str_field,
)
from losslab.data.readers.raw_text import glob_first, json_document
from losslab.errors import CorpusError

BOUNDARY = re.compile(r"(?<=[.!?])\s+(?=[\"'(]?[A-Z0-9])")


def read_squad(folder: Path) -> Corpus:
    """Read every JSON file; a split in a file's name is the split of its sentences."""
    collector = Collector(folder)
    for path in glob_first(folder, "*.json"):
        for number, (title, paragraph) in enumerate(_paragraphs(path), start=1):
            location = SourceLocation(path, number)
            try:
                sentences = _sentences(title, number, paragraph, split_of(path))
            except RowFault as fault:
                collector.reject(location, str(fault))
            else:
                rows = ((location, sentence) for sentence in sentences)
                collector.gather(rows, lambda _, sentence: sentence)
    return collector.corpus()


def sentence_starts(text: str) -> list[int]:
    """Offsets at which sentences begin.

    >>> sentence_starts("It rains. Does it? Yes.")
    [0, 10, 19]
    """
    return [0, *(match.end() for match in BOUNDARY.finditer(text))]


def _paragraphs(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        for article in json_document(path)["data"]:
            for paragraph in article["paragraphs"]:
                yield str(article["title"]), paragraph
    except (KeyError, TypeError, IndexError) as error:
        raise CorpusError(
            f"{path}: expected data[].title and data[].paragraphs[], found none: {error}"
        ) from error


def _sentences(title: str, number: int, paragraph: Any, split: str | None) -> list[Document]:
    if not isinstance(paragraph, dict):
        raise RowFault("expected a JSON object")
    text = str_field(paragraph, "context")
    starts = sentence_starts(text)
    ends = [*starts[1:], len(text)]
    return [
        Document(f"{title}-{number}-{order}", text[start:end], [title], split)
        for order, (start, end) in enumerate(zip(starts, ends, strict=True), start=1)
    ]
