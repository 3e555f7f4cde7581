"""Words deleted one at a time, and the texts that are left scored."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tqdm import tqdm

from losslab.supervision.word_counts import find_words

ScoreTexts = Callable[[list[str]], np.ndarray]
"""Scores of a list of texts, texts x labels."""
TEXTS_AT_ONCE = 4096
"""Texts of similar length per call of ``score_texts``: fills batches, bounds memory."""


@dataclass(frozen=True)
class Deletions:
    """One row per deletion: document, start and end offset, vocabulary index (0 without one)."""

    document: np.ndarray
    start: np.ndarray
    end: np.ndarray
    word: np.ndarray

    def by_length(self, texts: Sequence[str]) -> "Deletions":
        """Shortest remaining text first."""
        lengths = np.array([len(text) for text in texts])
        order = np.argsort(lengths[self.document] - (self.end - self.start), kind="stable")
        return self[order]

    def __getitem__(self, rows: Any) -> "Deletions":
        return Deletions(self.document[rows], self.start[rows], self.end[rows], self.word[rows])

    def __len__(self) -> int:
        return len(self.word)

    def texts(self, texts: Sequence[str]) -> list[str]:
        """The text after each deletion."""
        spans = zip(self.document, self.start, self.end, strict=True)
        return [f"{texts[document][:a]}{texts[document][b:]}" for document, a, b in spans]


def list_deletions(
    texts: Sequence[str],
    rows: Sequence[int] | np.ndarray,
    *,
    vocabulary: Sequence[str] | None = None,
    max_words: int | None = None,
    tokenization: Mapping[str, Any],
) -> Deletions:
    """Each of the first words of some texts; with a ``vocabulary``, those that are in it."""
    column = {word: index for index, word in enumerate(vocabulary or ())}
    deletions = [
        (row, start, end, column.get(word, 0))
        for row in rows
        for word, start, end in find_words(texts[row], **tokenization)[:max_words]
        if vocabulary is None or word in column
    ]
    return Deletions(*np.array(deletions, dtype=np.int64).reshape(-1, 4).T)


def score_deletions(
    texts: Sequence[str], deletions: Deletions, score_texts: ScoreTexts
) -> Iterator[tuple[Deletions, np.ndarray]]:
    """Deletions in parts, each with the scores of the texts that are left."""
    with tqdm(
        total=len(deletions), desc="deleting words", unit="text", disable=None, leave=False
    ) as bar:
        for start in range(0, len(deletions), TEXTS_AT_ONCE):
            part = deletions[start : start + TEXTS_AT_ONCE]
            yield part, np.asarray(score_texts(part.texts(texts)))
            bar.update(len(part))
