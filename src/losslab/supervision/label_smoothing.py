"""Label smoothing: classic, by keywords (KWLS), by TF-IDF, by distillation; targets of soft_zlpr."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from losslab.errors import SupervisionError
from losslab.supervision.keywords import (
    mean_length,
    tfidf_document_relevance,
    tfidf_label_relevance,
    word_document_relevance,
    word_label_relevance,
)
from losslab.supervision.soft_labels import SoftLabels, softmax


def from_relevance(
    documents: sparse.csr_array,
    words: sparse.csr_array,
    length: float,
    *,
    rows: np.ndarray | None = None,
) -> SoftLabels:
    """d = softmax of ILR (eq. 7, 8): documents x words times words x labels, over ``length``."""
    scaled = documents * documents.dtype.type(1 / length)  # a division would yield float64
    return SoftLabels(sparse.csr_array(scaled), words, rows=rows)


def document_label_relevance(
    counts: sparse.csr_array,
    targets: sparse.csr_array,
    *,
    k1: float,
    b: float,
    k2: float,
    block_size: int | None = None,
) -> np.ndarray | Iterator[np.ndarray]:
    """ILR (eq. 7), documents x labels: ``1/X_avg`` times the sum over a document's distinct words.

    With ``block_size``, an iterator of blocks of that many documents.
    """
    soft = _keyword_labels(counts, targets, k1, b, k2)
    return _compute(SoftLabels(soft.documents, soft.words, softmax=False), block_size)


def keyword_soft_labels(
    counts: sparse.csr_array,
    targets: sparse.csr_array,
    *,
    k1: float,
    b: float,
    k2: float,
    block_size: int | None = None,
) -> np.ndarray | Iterator[np.ndarray]:
    """KWLS (eq. 8): softmax of the relevance of labels to documents, documents x labels.

    With ``block_size``, an iterator of blocks of that many documents.
    """
    return _compute(_keyword_labels(counts, targets, k1, b, k2), block_size)


def tfidf_soft_labels(
    counts: sparse.csr_array,
    targets: sparse.csr_array,
    *,
    tf: str = "log",
    block_size: int | None = None,
) -> np.ndarray | Iterator[np.ndarray]:
    """LS-TFIDF: ``keyword_soft_labels`` with TF-IDF for both factors.

    ``tf``: ``log`` (``ln(1 + f)``) or ``raw`` (f).
    """
    words = tfidf_label_relevance(counts, targets, tf=tf)
    documents = tfidf_document_relevance(counts, tf=tf)
    return _compute(from_relevance(documents, words, mean_length(counts)), block_size)


def classic_soft_labels(
    targets: Any, *, eps: float, block_size: int | None = None
) -> np.ndarray | Iterator[np.ndarray]:
    """Classic label smoothing: ``(1 - eps) y/|y| + eps/C``; 1/C for a document without labels.

    >>> classic_soft_labels(np.array([[1, 0], [0, 0]]), eps=0.2).tolist()
    [[0.9, 0.1], [0.5, 0.5]]
    """
    return _compute(smooth_targets(targets, eps=eps), block_size)


def smooth_targets(targets: Any, *, eps: float, rows: np.ndarray | None = None) -> SoftLabels:
    """``classic_soft_labels``, computed on demand."""
    _check_eps(eps)
    carried = sparse.csr_array(targets, dtype=np.float64, copy=True)
    labels, sizes = carried.shape[1], np.asarray(carried.sum(axis=1)).ravel()
    carried.data *= np.repeat((1 - eps) / np.maximum(sizes, 1), np.diff(carried.indptr))
    unlabelled = sparse.csr_array((sizes == 0).astype(np.float64)[:, None])
    uniform = sparse.csr_array(np.full((1, labels), (1 - eps) / labels))
    mixed = sparse.csr_array(carried + unlabelled @ uniform)
    return SoftLabels(mixed, softmax=False, floor=eps / labels, rows=rows)


def mix_soft_targets(
    targets: Any,
    *,
    eps: float,
    distribution: SoftLabels | None = None,
    rows: np.ndarray | None = None,
) -> SoftLabels:
    """Soft targets per label: ``t = (1 - eps) y + eps d``, in [0, 1], computed on demand.

    d is uniform (1/C) or ``distribution``, such as the soft labels of KWLS, whose ``rows`` hold
    then. Unlike ``smooth_targets``, t does not sum to 1 over labels.

    >>> mix_soft_targets(np.array([[1, 1, 0, 0]]), eps=0.2)(np.array([0])).round(2).tolist()
    [[0.85, 0.85, 0.05, 0.05]]
    """
    _check_eps(eps)
    hard = sparse.csr_array(targets, dtype=np.float64, copy=True)
    if distribution is None:
        documents, labels = hard.shape
        nothing = sparse.csr_array((documents, labels), dtype=np.float64)
        distribution = SoftLabels(nothing, softmax=False, floor=1 / labels, rows=rows)
    _check_shapes(hard, distribution, rows)
    hard *= 1 - eps
    if distribution.offset is not None:
        hard = hard + eps * distribution.offset
    return replace(
        distribution,
        scale=eps * distribution.scale,
        floor=eps * distribution.floor,
        offset=sparse.csr_array(hard, dtype=distribution.documents.dtype),
    )


def distilled_soft_labels(logits: np.ndarray) -> np.ndarray:
    """LS-Distill: softmax of a trained baseline's logits, documents x labels."""
    if not np.isfinite(logits).all():
        raise SupervisionError("the baseline's logits are not finite")
    return softmax(np.asarray(logits))


def _check_eps(eps: float) -> None:
    if not 0 <= eps <= 1:
        raise SupervisionError(f"eps must be in [0, 1], got {eps:g}")


def _check_shapes(
    targets: sparse.csr_array, distribution: SoftLabels, rows: np.ndarray | None
) -> None:
    shape = (len(distribution), distribution.labels)
    if targets.shape != shape:
        raise SupervisionError(f"targets are {targets.shape}, the distribution is {shape}")
    expected = np.arange(len(distribution)) if distribution.rows is None else distribution.rows
    if rows is not None and not np.array_equal(rows, expected):
        raise SupervisionError("targets and distribution are of different rows")


def _keyword_labels(
    counts: sparse.csr_array, targets: sparse.csr_array, k1: float, b: float, k2: float
) -> SoftLabels:
    words = word_label_relevance(counts, targets, k1=k1, b=b)
    return from_relevance(word_document_relevance(counts, k2=k2), words, mean_length(counts))


def _compute(soft: SoftLabels, block_size: int | None) -> np.ndarray | Iterator[np.ndarray]:
    if block_size is None:
        return soft(np.arange(len(soft)))
    return soft.blocks(block_size)
