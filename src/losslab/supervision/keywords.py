"""Relevance of words to labels and documents (KWLS, Liu et al. 2022, section 4; TF-IDF).

``counts`` is documents x words, ``targets`` documents x labels, of the training split. Relevance is
sparse: words x labels, documents x words; their product yields soft labels. A label without words in
training documents has relevance 0 and does not count as a label (C, S_avg) for the others.
"""

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import DTypeLike
from scipy import sparse

from losslab.errors import SupervisionError

logger = logging.getLogger(__name__)


def word_label_relevance(
    counts: sparse.csr_array,
    targets: sparse.csr_array,
    *,
    k1: float,
    b: float,
    dtype: DTypeLike = np.float64,
) -> sparse.csr_array:
    """WLR (eq. 1 to 3), words x labels: BM25 relevance of a word to a label.

    ``f k1 / (f + K_m) * (ln(C / df) + 1)`` with ``K_m = k1 (1 - b + b S_m / S_avg)``: f is the
    frequency of the word in documents of label m, S_m their number of words, df the number of labels
    (of C) with the word. A word without labels has relevance 0.
    """
    frequency, sizes = _label_frequency(counts, targets, dtype)
    present = sizes[sizes > 0]
    damping = k1 * (1 - b + b * sizes / (present.mean() if present.size else 1.0))
    frequency.data /= frequency.data + damping.astype(dtype)[frequency.indices]
    return _weigh_rows(frequency, k1 * (_inverse_frequency(frequency, present.size) + 1))


def word_document_relevance(
    counts: sparse.csr_array, *, k2: float, dtype: DTypeLike = np.float64
) -> sparse.csr_array:
    """WIR (eq. 4 to 6), documents x words: relevance of a word to a document.

    ``f k2 / (f + k2) * (ln(D / df) + 1)``: f is the frequency of the word in the document, df the
    number of documents (of D) with the word.
    """
    relevance = _canonical(counts, dtype)
    weights = k2 * (_inverse_frequency(relevance.T, relevance.shape[0]) + 1)
    relevance.data *= weights.astype(dtype)[relevance.indices] / (relevance.data + k2)
    return relevance


def tfidf_label_relevance(
    counts: sparse.csr_array,
    targets: sparse.csr_array,
    *,
    tf: str = "log",
    dtype: DTypeLike = np.float64,
) -> sparse.csr_array:
    """TF-IDF counterpart of WLR: ``ln(1 + f) ln(C / df)``, or ``f ln(C / df)`` (raw)."""
    frequency, sizes = _label_frequency(counts, targets, dtype)
    frequency.data = _term_frequency(frequency.data, tf)
    return _weigh_rows(frequency, _inverse_frequency(frequency, int((sizes > 0).sum())))


def tfidf_document_relevance(
    counts: sparse.csr_array, *, tf: str = "log", dtype: DTypeLike = np.float64
) -> sparse.csr_array:
    """TF-IDF counterpart of WIR: ``ln(1 + f) ln(D / df)``, or ``f ln(D / df)`` (raw)."""
    relevance = _canonical(counts, dtype)
    weights = _inverse_frequency(relevance.T, relevance.shape[0])
    relevance.data = _term_frequency(relevance.data, tf)
    relevance.data *= weights.astype(dtype)[relevance.indices]
    return relevance


def mean_length(counts: sparse.csr_array) -> float:
    """X_avg: mean number of words per document."""
    return float(_lengths(counts).mean())


def tabulate_keywords(
    relevance: sparse.csr_array,
    vocabulary: Sequence[str],
    labels: Sequence[str],
    frequencies: Sequence[int],
    *,
    top: int = 12,
) -> pd.DataFrame:
    """One row per label, most frequent first: its ``top`` words by relevance, highest first.

    ``relevance`` is words x labels. ``strongest`` is the relevance of the first word.
    """
    columns = sparse.csc_array(relevance)
    rows = []
    for index, label in enumerate(labels):
        part = slice(columns.indptr[index], columns.indptr[index + 1])
        words, weights = columns.indices[part], columns.data[part]
        best = np.lexsort((words, -weights))[:top]
        rows.append(
            {
                "label": label,
                "documents": int(frequencies[index]),
                "keywords": ", ".join(vocabulary[word] for word in words[best]),
                "strongest": round(float(weights[best[0]]), 3) if best.size else 0.0,
                "words": len(words),
            }
        )
    table = pd.DataFrame(rows)
    return table.sort_values(["documents", "label"], ascending=[False, True], ignore_index=True)


def word_contributions(
    document: sparse.csr_array, words: sparse.csr_array, label: int
) -> dict[int, float]:
    """Contribution of each word of a document (1 x words) to its relevance for a label.

    >>> document = sparse.csr_array([[2.0, 0.0, 1.0]])
    >>> words = sparse.csr_array([[0.5], [1.0], [3.0]])
    >>> word_contributions(document, words, 0)
    {0: 1.0, 2: 3.0}
    """
    weights = words[document.indices][:, [label]].toarray().ravel()
    pairs = zip(document.indices.tolist(), (document.data * weights).tolist(), strict=True)
    return {word: share for word, share in pairs if share > 0}


def _label_frequency(
    counts: sparse.csr_array, targets: sparse.csr_array, dtype: DTypeLike
) -> tuple[sparse.csr_array, np.ndarray]:
    """Frequency of words in the documents of each label, words x labels; words per label."""
    if counts.shape[0] != targets.shape[0]:
        raise SupervisionError(
            f"counts have {counts.shape[0]} documents, targets {targets.shape[0]}; expected one row "
            "per document in both"
        )
    sizes = targets.T.astype(np.float64) @ _lengths(counts)
    absent = int(np.count_nonzero(sizes == 0))
    if absent:
        logger.warning("%d labels without words in training documents: relevance 0", absent)
    words = sparse.csr_array(_canonical(counts, dtype).T)
    return sparse.csr_array(words @ _canonical(targets, dtype)), sizes


def _canonical(matrix: Any, dtype: DTypeLike) -> sparse.csr_array:
    """A copy without stored zeros or duplicates."""
    copy = sparse.csr_array(matrix, dtype=dtype, copy=True)
    copy.sum_duplicates()
    copy.eliminate_zeros()
    if (
        max(copy.nnz, *copy.shape) <= np.iinfo(np.int32).max
    ):  # products inherit the wider index type
        copy.indices, copy.indptr = copy.indices.astype(np.int32), copy.indptr.astype(np.int32)
    return copy


def _lengths(counts: sparse.csr_array) -> np.ndarray:
    return np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()


def _inverse_frequency(matrix: Any, total: int) -> np.ndarray:
    """``ln(total / df)`` per row, df its number of entries; df 0 counts as 1."""
    seen = matrix.count_nonzero(axis=1)
    return np.asarray(np.log(max(total, 1) / np.maximum(seen, 1)))


def _weigh_rows(matrix: sparse.csr_array, weights: np.ndarray) -> sparse.csr_array:
    matrix.data *= np.repeat(weights.astype(matrix.dtype), np.diff(matrix.indptr))
    return matrix


def _term_frequency(frequency: np.ndarray, tf: str) -> np.ndarray:
    if tf not in ("log", "raw"):
        raise SupervisionError(f"unknown tf {tf!r}; choose from log, raw")
    return np.log1p(frequency) if tf == "log" else frequency
