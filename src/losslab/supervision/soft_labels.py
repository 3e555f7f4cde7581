"""Soft labels: for each training document a distribution over the labels, made when it is needed.

Documents x labels is 16 GB for 225,000 documents and 18,211 labels, so that matrix is never kept.
``SoftLabels`` keeps what it is the product of, documents x words and words x labels, and multiplies
the rows of a batch. Small corpora take the same way: there is one mechanism to trust.
"""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
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

DENSE_SHARE = 1 / 8
"""A word that speaks for more of the labels than this is multiplied as a dense row: the quickest
cut of those measured in ``benchmarks/soft_labels.py``."""
DENSE_BYTES = 2**30
"""What the dense rows may take."""


@dataclass(frozen=True)
class SoftLabels:
    """Soft labels of ``len(soft_labels)`` documents; call it with row numbers to get their block.

    A block is ``documents[rows] @ words``, put through softmax where ``softmax`` is set, plus
    ``floor``. Without ``words`` the rows of ``documents`` (sparse or dense) stand for themselves.
    ``rows`` are the numbers the documents go by, in ascending order: soft labels cover the training
    documents, and are asked for by rows of the corpus. Without it they are counted from 0.
    """

    documents: Any
    words: sparse.csr_array | None = None
    softmax: bool = True
    floor: float = 0.0
    rows: np.ndarray | None = None

    def __len__(self) -> int:
        return int(self.documents.shape[0])

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Soft labels of the chosen documents: rows x labels, each row summing to 1."""
        block = self.relevance(rows)
        return (softmax(block) if self.softmax else block) + block.dtype.type(self.floor)

    def document(self, row: int) -> Any:
        """What the soft labels of one document are made from: 1 x words, or 1 x labels."""
        return self.documents[self._places(np.array([row]))]

    def relevance(self, rows: np.ndarray) -> np.ndarray:
        """What the soft labels of the chosen documents are made from: rows x labels."""
        rows = self._places(rows)
        if self.words is None:
            block = self.documents[rows]
            return np.asarray(block.toarray() if sparse.issparse(block) else block)
        common, dense, rare, thin = self._parts
        block = np.asarray(common[rows] @ dense)
        block += (rare[rows] @ thin).toarray()
        return block

    def blocks(self, size: int, *, workers: int = 1) -> Iterator[np.ndarray]:
        """All documents in order, ``size`` at a time; ``workers`` threads work ahead."""
        if self.words is not None:
            _ = self._parts  # once, before threads ask for it side by side
        names = np.arange(len(self)) if self.rows is None else self.rows
        with ThreadPoolExecutor(workers) as pool:
            ahead: deque[Any] = deque()
            for start in range(0, len(self), size):
                ahead.append(pool.submit(self, names[start : start + size]))
                if len(ahead) > workers:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()

    def _places(self, rows: np.ndarray) -> np.ndarray:
        if self.rows is None:
            return rows
        places = np.searchsorted(self.rows, rows)
        strange = self.rows.take(places, mode="clip") != rows
        if strange.any():
            raise SupervisionError(
                f"no soft labels for row {np.asarray(rows)[strange][0]}: they are made for the "
                f"{len(self)} training documents only"
            )
        return places

    @cached_property
    def _parts(self) -> tuple[sparse.csr_array, np.ndarray, sparse.csr_array, sparse.csr_array]:
        """Words that speak for many labels, as dense rows, and the others, as sparse ones."""
        matrix = sparse.csr_array(self.words)
        entries, labels = np.diff(matrix.indptr), matrix.shape[1]
        room = DENSE_BYTES // max(labels * matrix.dtype.itemsize, 1)
        order = np.argsort(-entries, kind="stable")[:room]
        common = np.sort(order[entries[order] > DENSE_SHARE * labels])
        rare = np.setdiff1d(np.arange(len(entries)), common)
        documents = sparse.csr_array(self.documents)
        return (
            sparse.csr_array(documents[:, common]),
            matrix[common].toarray(),
            sparse.csr_array(documents[:, rare]),
            sparse.csr_array(matrix[rare]),
        )


def softmax(relevance: np.ndarray) -> np.ndarray:
    """Softmax of each row.

    >>> softmax(np.zeros((1, 4))).tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """
    powers = np.exp(relevance - relevance.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def from_relevance(
    documents: sparse.csr_array,
    words: sparse.csr_array,
    length: float,
    *,
    rows: np.ndarray | None = None,
) -> SoftLabels:
    """d = softmax of ILR (eq. 7, 8): documents x words times words x labels, over ``length``."""
    scaled = documents * documents.dtype.type(1 / length)  # a division would make float64 of it
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

    With ``block_size``, an iterator of as many documents at a time instead of one array.
    """
    soft = _keyword_labels(counts, targets, k1, b, k2)
    return _deliver(SoftLabels(soft.documents, soft.words, softmax=False), block_size)


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

    With ``block_size``, an iterator of as many documents at a time instead of one array.
    """
    return _deliver(_keyword_labels(counts, targets, k1, b, k2), block_size)


def tfidf_soft_labels(
    counts: sparse.csr_array,
    targets: sparse.csr_array,
    *,
    tf: str = "log",
    block_size: int | None = None,
) -> np.ndarray | Iterator[np.ndarray]:
    """LS-TFIDF: as ``keyword_soft_labels``, with plain TF-IDF on both sides.

    ``tf`` is ``log`` (``ln(1 + f)``) or ``raw`` (f itself).
    """
    words = tfidf_label_relevance(counts, targets, tf=tf)
    documents = tfidf_document_relevance(counts, tf=tf)
    return _deliver(from_relevance(documents, words, mean_length(counts)), block_size)


def classic_soft_labels(
    targets: Any, *, eps: float, block_size: int | None = None
) -> np.ndarray | Iterator[np.ndarray]:
    """Classic label smoothing: ``(1 - eps) y/|y| + eps/C``; 1/C everywhere without a label.

    >>> classic_soft_labels(np.array([[1, 0], [0, 0]]), eps=0.2).tolist()
    [[0.9, 0.1], [0.5, 0.5]]
    """
    return _deliver(smooth_targets(targets, eps=eps), block_size)


def smooth_targets(targets: Any, *, eps: float, rows: np.ndarray | None = None) -> SoftLabels:
    """``classic_soft_labels``, made when they are needed."""
    if not 0 <= eps <= 1:
        raise SupervisionError(f"eps must lie in [0, 1], got {eps:g}")
    carried = sparse.csr_array(targets, dtype=np.float64, copy=True)
    labels, sizes = carried.shape[1], np.asarray(carried.sum(axis=1)).ravel()
    carried.data *= np.repeat((1 - eps) / np.maximum(sizes, 1), np.diff(carried.indptr))
    bare = sparse.csr_array((sizes == 0).astype(np.float64)[:, None])
    even = sparse.csr_array(np.full((1, labels), (1 - eps) / labels))
    shared = sparse.csr_array(carried + bare @ even)
    return SoftLabels(shared, softmax=False, floor=eps / labels, rows=rows)


def distilled_soft_labels(logits: np.ndarray) -> np.ndarray:
    """LS-Distill: softmax of a trained baseline's logits, documents x labels."""
    if not np.isfinite(logits).all():
        raise SupervisionError("the baseline's logits are not finite")
    return softmax(np.asarray(logits))


def _keyword_labels(
    counts: sparse.csr_array, targets: sparse.csr_array, k1: float, b: float, k2: float
) -> SoftLabels:
    words = word_label_relevance(counts, targets, k1=k1, b=b)
    return from_relevance(word_document_relevance(counts, k2=k2), words, mean_length(counts))


def _deliver(soft: SoftLabels, block_size: int | None) -> np.ndarray | Iterator[np.ndarray]:
    if block_size is None:
        return soft(np.arange(len(soft)))
    return soft.blocks(block_size)
