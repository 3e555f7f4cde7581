"""Words that labels depend on, found by leaving them out (MaskLoss, appendix A.3).

With a trained baseline: take documents it gets exactly right, delete each word in turn, score what
is left. Where a label's probability falls by more than t, the label depends on the word. The map
from words to labels is global; a document's group is the union over its words.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from tqdm import tqdm

from losslab.errors import SupervisionError
from losslab.supervision.words import find_words

logger = logging.getLogger(__name__)
ScoreTexts = Callable[[list[str]], np.ndarray]
CUT = 0.5
"""The paper's, for right and wrong alike: a label is predicted where its probability is above."""
TEXTS_AT_ONCE = 4096
"""Texts of similar length handed over together: enough to fill batches, little to keep."""


@dataclass(frozen=True)
class ElementKeywords:
    """Words x labels, 1 where a label depends on a word, and an account of the search."""

    words: sparse.csr_array
    account: dict[str, Any]


@dataclass(frozen=True)
class _Deletions:
    """One row per word to delete: its document, its place in the text, its column."""

    document: np.ndarray
    start: np.ndarray
    end: np.ndarray
    word: np.ndarray

    def by_length(self, texts: Sequence[str]) -> "_Deletions":
        """Shortest remaining text first."""
        whole = np.array([len(text) for text in texts])
        order = np.argsort(whole[self.document] - (self.end - self.start), kind="stable")
        return self[order]

    def __getitem__(self, rows: Any) -> "_Deletions":
        return _Deletions(self.document[rows], self.start[rows], self.end[rows], self.word[rows])

    def __len__(self) -> int:
        return len(self.word)

    def texts(self, texts: Sequence[str]) -> list[str]:
        """What is left of each document."""
        places = zip(self.document, self.start, self.end, strict=True)
        return [f"{texts[document][:a]}{texts[document][b:]}" for document, a, b in places]


def find_element_keywords(
    texts: Sequence[str],
    targets: sparse.csr_array,
    probabilities: np.ndarray,
    score_texts: ScoreTexts,
    vocabulary: Sequence[str],
    *,
    t: float,
    select: str = "right",
    documents: int | None = None,
    words: int | None = None,
    seed: int = 0,
    reading: Mapping[str, Any] | None = None,
) -> ElementKeywords:
    """Search the documents a baseline gets right (``select="wrong"``: the others).

    Args:
        texts: of the training documents, whose ``targets`` and baseline ``probabilities`` are
            documents x labels.
        score_texts: the baseline: probabilities of a list of texts.
        vocabulary: the columns of the word counts.
        documents: at most so many are searched, drawn by ``seed``; ``words``: at most so many words
            of each, from its beginning.
        reading: ``lowercase``, ``token_pattern`` and ``segmenter``, as the words were counted.
    """
    if not 0 < t < 1:
        raise SupervisionError(f"t must lie between 0 and 1, got {t:g}")
    chosen = select_documents(targets, probabilities, select)
    used = _draw(chosen, documents, seed)
    deletions = _list_deletions(texts, used, vocabulary, words, reading or {}).by_length(texts)
    pairs = _fallen(texts, probabilities, deletions, score_texts, t)
    shape = (len(vocabulary), targets.shape[1])
    found = sparse.csr_array((np.ones(len(pairs), dtype=np.int32), tuple(pairs.T)), shape=shape)
    keywords = sparse.csr_array((found > 0).astype(np.int8))
    account = {
        "select": select,
        "t": t,
        "document_cap": documents,
        "word_cap": words,
        "seed": seed,
        "documents": len(texts),
        "documents_selected": len(chosen),
        "documents_searched": len(used),
        "texts_scored": len(deletions),
        "keywords": int((np.diff(keywords.indptr) > 0).sum()),
        "pairs": int(keywords.nnz),
    }
    logger.info(
        "%(documents_searched)d of %(documents_selected)d documents searched, %(texts_scored)d "
        "texts scored: %(keywords)d words that labels depend on",
        account,
    )
    return ElementKeywords(keywords, account)


def select_documents(
    targets: sparse.csr_array, probabilities: np.ndarray, select: str
) -> np.ndarray:
    """Rows of the documents the baseline gets exactly right, or of those it does not."""
    if select not in ("right", "wrong"):
        raise SupervisionError(f"select must be right or wrong, got {select!r}")
    predicted = sparse.csr_array(probabilities > CUT)
    differences = (predicted != sparse.csr_array(targets).astype(bool)).sum(axis=1)
    right = np.asarray(differences).ravel() == 0
    return np.flatnonzero(right if select == "right" else ~right)


def element_groups(counts: sparse.csr_array, keywords: sparse.csr_array) -> sparse.csr_array:
    """Documents x labels, 1 where a label depends on one of the document's words."""
    touched = sparse.csr_array(counts, dtype=np.int32) @ keywords.astype(np.int32)
    return sparse.csr_array((touched > 0).astype(np.int8))


def tabulate_element_keywords(
    keywords: sparse.csr_array,
    counts: sparse.csr_array,
    vocabulary: Sequence[str],
    labels: Sequence[str],
) -> pd.DataFrame:
    """One row per word that labels depend on: its training documents and the labels."""
    documents = sparse.csc_array(counts).count_nonzero(axis=0)
    rows = [
        {
            "word": vocabulary[word],
            "documents": int(documents[word]),
            "labels": ", ".join(labels[label] for label in keywords[[word]].indices),
        }
        for word in np.flatnonzero(np.diff(keywords.indptr))
    ]
    table = pd.DataFrame(rows, columns=["word", "documents", "labels"])
    return table.sort_values(["documents", "word"], ascending=[False, True], ignore_index=True)


def _draw(rows: np.ndarray, limit: int | None, seed: int) -> np.ndarray:
    if limit is None or len(rows) <= limit:
        return rows
    return np.sort(np.random.default_rng(seed).choice(rows, limit, replace=False))


def _list_deletions(
    texts: Sequence[str],
    rows: np.ndarray,
    vocabulary: Sequence[str],
    limit: int | None,
    reading: Mapping[str, Any],
) -> _Deletions:
    column = {word: index for index, word in enumerate(vocabulary)}
    found = [
        (row, start, end, column[word])
        for row in rows
        for word, start, end in find_words(texts[row], **reading)[:limit]
        if word in column
    ]
    return _Deletions(*np.array(found, dtype=np.int64).reshape(-1, 4).T)


def _fallen(
    texts: Sequence[str],
    before: np.ndarray,
    deletions: _Deletions,
    score_texts: ScoreTexts,
    t: float,
) -> np.ndarray:
    """Pairs of word and label whose probability fell by more than ``t``, with repetitions."""
    pairs = [np.empty((0, 2), dtype=np.int64)]
    with tqdm(total=len(deletions), desc="deleting words", unit="text", disable=None) as bar:
        for start in range(0, len(deletions), TEXTS_AT_ONCE):
            part = deletions[start : start + TEXTS_AT_ONCE]
            after = np.asarray(score_texts(part.texts(texts)))
            row, label = np.nonzero(before[part.document] - after > t)
            pairs.append(np.column_stack([part.word[row], label]))
            bar.update(len(part))
    return np.concatenate(pairs)
