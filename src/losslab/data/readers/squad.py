"""SQuAD 1.1 for retrieval: documents are the sentences of its paragraphs, labelled by article.

The table ``questions`` has ``id``, ``question``, ``answer`` and ``sentence``, the id of the document
in which the answer begins. Places count questions and paragraphs, for the files are one JSON each.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from losslab.data.corpus import Corpus
from losslab.data.readers.collector import Collector
from losslab.data.readers.raw_text import json_document, matching
from losslab.data.readers.rows import Document, Place, RowFault, plain, split_of
from losslab.errors import CorpusError

BOUNDARY = re.compile(r"(?<=[.!?])\s+(?=[\"'(]?[A-Z0-9])")
QUESTION_COLUMNS = ["id", "question", "answer", "sentence"]


def read_squad(folder: Path) -> Corpus:
    """Read every JSON file; one named after a split gives its sentences to it."""
    collector = Collector(folder)
    questions: list[tuple[str, ...]] = []
    for path in matching(folder, "*.json"):
        for number, (title, paragraph) in enumerate(_paragraphs(path), start=1):
            place = Place(path, number)
            try:
                sentences = _sentences(title, number, paragraph, split_of(path))
            except RowFault as fault:
                collector.reject(place, str(fault))
                continue
            collector.gather(((place, one) for one in sentences.values()), lambda _, one: one)
            questions += _questions(place, paragraph, sentences, collector)
    table = pd.DataFrame(questions, columns=QUESTION_COLUMNS)
    return collector.corpus({"questions": table})


def sentence_starts(text: str) -> list[int]:
    """Where the sentences of a text begin.

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


def _sentences(title: str, number: int, paragraph: Any, split: str | None) -> dict[int, Document]:
    """The sentences of a paragraph by where they begin."""
    if not isinstance(paragraph, dict):
        raise RowFault("expected a JSON object")
    text = plain(paragraph, "context")
    starts = sentence_starts(text)
    return {
        start: Document(f"{title}-{number}-{order}", text[start:end], [title], split)
        for order, (start, end) in enumerate(
            zip(starts, [*starts[1:], len(text)], strict=True), start=1
        )
    }


def _questions(
    place: Place,
    paragraph: Mapping[str, Any],
    sentences: dict[int, Document],
    collector: Collector,
) -> Iterator[tuple[str, ...]]:
    asked = paragraph.get("qas", [])
    for question in asked if isinstance(asked, list) else [None]:
        try:
            yield _question(question, paragraph["context"], sentences)
        except RowFault as fault:
            collector.reject(place, f"question: {fault}")


def _question(question: Any, context: str, sentences: dict[int, Document]) -> tuple[str, ...]:
    answers = question.get("answers") if isinstance(question, dict) else None
    if not isinstance(answers, list) or not answers or not isinstance(answers[0], dict):
        raise RowFault("expected a JSON object with answers")
    answer, start = plain(answers[0], "text"), answers[0].get("answer_start")
    if not isinstance(start, int) or start < 0 or not context.startswith(answer, start):
        raise RowFault(f"expected the answer {answer[:60]!r} at {str(start)[:20]} of the context")
    begin = max(position for position in sentences if position <= start)
    return plain(question, "id"), plain(question, "question"), answer, sentences[begin].id
