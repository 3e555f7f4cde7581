"""SQuAD 1.1 for retrieval (ReQA): every sentence of every passage is a candidate answer.

The positive of a question is the sentence in which its first answer begins. A file is one JSON
document, so the line of a location is the number of the passage.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from losslab.data.corpus import Corpus, with_questions
from losslab.data.readers.collector import (
    Collector,
    Document,
    ExcludedByRule,
    RowFault,
    SourceLocation,
    split_of,
    str_field,
)
from losslab.data.readers.raw_text import glob_first, json_document
from losslab.errors import CorpusError

BOUNDARY = re.compile(r"(?<=[.!?])\s+(?=[\"'(]?[A-Z0-9])")
SPLITS = {"train": "train", "validation": "test", "test": "test"}
"""By the word in a file's name: SQuAD's dev file is the test split, as in KWLS and ReQA."""


class Passage(NamedTuple):
    """A paragraph of an article, and where its sentences begin."""

    name: str
    article: str
    text: str
    starts: list[int]
    split: str | None

    def sentences(self) -> list[Document]:
        """The candidates, labelled by their article."""
        ends = [*self.starts[1:], len(self.text)]
        spans = enumerate(zip(self.starts, ends, strict=True), start=1)
        return [
            Document(f"{self.name}-{order}", self.text[start:end], [self.article], self.split)
            for order, (start, end) in spans
        ]

    def sentence_at(self, offset: int) -> str:
        """The id of the sentence that holds the character at ``offset``."""
        return f"{self.name}-{bisect_right(self.starts, offset)}"


def read_squad(folder: Path) -> Corpus:
    """Read every JSON file: sentences as documents, labelled by article, and the questions.

    A split in a file's name is the split of its rows; dev is test.
    """
    candidates, questions = Collector(folder), Collector(folder)
    for path in glob_first(folder, "*.json"):
        split = SPLITS.get(split_of(path) or "")
        for number, (title, paragraph) in enumerate(_paragraphs(path), start=1):
            location = SourceLocation(path, number)
            try:
                passage = _passage(title.strip(), number, paragraph, split)
                rows = _question_rows(paragraph)
            except RowFault as fault:
                candidates.reject(location, str(fault))
                continue
            sentences = ((location, sentence) for sentence in passage.sentences())
            candidates.gather(sentences, lambda _, sentence: sentence)
            parse = partial(_question, passage=passage, candidates=candidates)
            questions.gather([(location, row) for row in rows], parse)
    return with_questions(candidates.corpus(), questions.corpus())


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


def _passage(title: str, number: int, paragraph: Any, split: str | None) -> Passage:
    if not isinstance(paragraph, dict):
        raise RowFault("expected a JSON object")
    text = str_field(paragraph, "context")
    if not text.strip():
        raise RowFault("a passage without sentences")
    return Passage(f"{title}-{number}", title, text, sentence_starts(text), split)


def _question_rows(paragraph: dict[str, Any]) -> list[Any]:
    rows = paragraph.get("qas", [])
    if not isinstance(rows, list):
        raise RowFault(f"field 'qas': expected a list, found {str(rows)[:60]!r}")
    return rows


def _question(
    location: SourceLocation, row: Any, *, passage: Passage, candidates: Collector
) -> Document:
    """A question, labelled by its positive candidate."""
    if not isinstance(row, dict):
        raise RowFault("a question: expected a JSON object")
    name, text = str_field(row, "id"), str_field(row, "question")
    positive = passage.sentence_at(_answer_start(name, row, passage.text))
    if positive not in candidates:
        raise RowFault(f"question '{name}': the sentence of its answer was rejected")
    return Document(name, text, [positive], passage.split)


def _answer_start(name: str, row: dict[str, Any], passage: str) -> int:
    """Where the first answer begins; raise RowFault where the passage does not have it there."""
    answers = row.get("answers")
    if answers == []:
        raise ExcludedByRule("a question without an answer")
    if not isinstance(answers, list) or not isinstance(answers[0], dict):
        raise RowFault(f"question '{name}': expected a list of answers")
    text, start = str_field(answers[0], "text"), answers[0].get("answer_start")
    if isinstance(start, int) and start >= 0 and text and passage.startswith(text, start):
        return start
    raise RowFault(f"question '{name}': its answer is not in the passage at answer_start")
