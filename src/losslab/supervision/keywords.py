"""Which words speak for which labels and documents (KWLS, Liu et al. 2022, section 4; TF-IDF).

``counts`` are documents x words, ``targets`` documents x labels, of the training split. Relevance
stays sparse: words x labels, documents x words; their product is what soft labels are made from.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from losslab.errors import SupervisionError


def word_label_relevance(
    counts: sparse.csr_array,
    targets: sparse.csr_array,
    *,
    k1: float,
    b: float,
    dtype: DTypeLike = np.float64,
) -> sparse.csr_array:
    """WLR (eq. 1 to 3), words x labels: how much a word speaks for a label.

    ``f k1 / (f + K_m) * (ln(C / df) + 1)`` with ``K_m = k1 (1 - b + b S_m / S_avg)``: f is how often
    the word stands in documents of label m, S_m how many words these have together, df in how many
    of the C labels the word occurs. A word seen with no label has relevance 0.
    """
    frequency = _label_frequency(counts, targets, dtype)
    sizes = targets.T.astype(np.float64) @ _lengths(counts)
    damping = k1 * (1 - b + b * sizes / sizes.mean())
    frequency.data /= frequency.data + damping.astype(dtype)[frequency.indices]
    return _weigh_rows(frequency, k1 * (_inverse_frequency(frequency) + 1))


def word_document_relevance(
    counts: sparse.csr_array, *, k2: float, dtype: DTypeLike = np.float64
) -> sparse.csr_array:
    """WIR (eq. 4 to 6), documents x words: how much a word speaks for a document.

    ``f k2 / (f + k2) * (ln(D / df) + 1)``: f is how often the word stands in the document, df in how
    many of the D documents it occurs.
    """
    relevance = _tidy(counts, dtype)
    weights = k2 * (_inverse_frequency(relevance.T) + 1)
    relevance.data *= weights.astype(dtype)[relevance.indices] / (relevance.data + k2)
    return relevance


def tfidf_label_relevance(
    counts: sparse.csr_array,
    targets: sparse.csr_array,
    *,
    tf: str = "log",
    dtype: DTypeLike = np.float64,
) -> sparse.csr_array:
    """The plain TF-IDF counterpart of WLR: ``ln(1 + f) ln(C / df)``, or ``f ln(C / df)`` (raw)."""
    frequency = _label_frequency(counts, targets, dtype)
    frequency.data = _term_frequency(frequency.data, tf)
    return _weigh_rows(frequency, _inverse_frequency(frequency))


def tfidf_document_relevance(
    counts: sparse.csr_array, *, tf: str = "log", dtype: DTypeLike = np.float64
) -> sparse.csr_array:
    """The plain TF-IDF counterpart of WIR: ``ln(1 + f) ln(D / df)``, or ``f ln(D / df)`` (raw)."""
    relevance = _tidy(counts, dtype)
    weights = _inverse_frequency(relevance.T)
    relevance.data = _term_frequency(relevance.data, tf)
    relevance.data *= weights.astype(dtype)[relevance.indices]
    return relevance


def mean_length(counts: sparse.csr_array) -> float:
    """X_avg: words per document."""
    return float(_lengths(counts).mean())


def check_labels_have_words(
    counts: sparse.csr_array, targets: sparse.csr_array, names: Sequence[str] | None = None
) -> None:
    """Stop where no word can speak for a label, because its documents have none or are none.

    Raises:
        SupervisionError: with the labels' ``names``, or their columns.
    """
    silent = np.flatnonzero(targets.T.astype(np.float64) @ _lengths(counts) == 0)
    if silent.size:
        which = ", ".join(
            repr(names[label]) if names else f"column {label}" for label in silent[:10]
        )
        raise SupervisionError(
            f"{silent.size} of {targets.shape[1]} labels have no training document with a word in "
            f"it, so that no word can speak for them: {which}{', ...' if silent.size > 10 else ''}; "
            "give them training documents or leave them out of the corpus"
        )


def _label_frequency(
    counts: sparse.csr_array, targets: sparse.csr_array, dtype: DTypeLike
) -> sparse.csr_array:
    """Words x labels: how often a word stands in the documents of a label, once checked."""
    if counts.shape[0] != targets.shape[0]:
        raise SupervisionError(
            f"counts have {counts.shape[0]} documents, targets {targets.shape[0]}; expected one row "
            "per document in both"
        )
    check_labels_have_words(counts, targets)
    words = sparse.csr_array(_tidy(counts, dtype).T)
    return sparse.csr_array(words @ _tidy(targets, dtype))


def _tidy(matrix: Any, dtype: DTypeLike) -> sparse.csr_array:
    """A copy that the caller may change, in which every stored entry counts."""
    copy = sparse.csr_array(matrix, dtype=dtype, copy=True)
    copy.sum_duplicates()
    copy.eliminate_zeros()
    if max(copy.nnz, *copy.shape) <= np.iinfo(np.int32).max:  # products inherit the wider type
        copy.indices, copy.indptr = copy.indices.astype(np.int32), copy.indptr.astype(np.int32)
    return copy


def _lengths(counts: sparse.csr_array) -> np.ndarray:
    return np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()


def _inverse_frequency(matrix: Any) -> np.ndarray:
    """For each row ``ln(columns / columns with an entry)``; rows without one are never read."""
    seen = matrix.count_nonzero(axis=1)
    return np.log(matrix.shape[1] / np.maximum(seen, 1))


def _weigh_rows(matrix: sparse.csr_array, weights: np.ndarray) -> sparse.csr_array:
    matrix.data *= np.repeat(weights.astype(matrix.dtype), np.diff(matrix.indptr))
    return matrix


def _term_frequency(frequency: np.ndarray, tf: str) -> np.ndarray:
    if tf not in ("log", "raw"):
        raise SupervisionError(f"unknown tf {tf!r}; choose from log, raw")
    return np.log1p(frequency) if tf == "log" else frequency
