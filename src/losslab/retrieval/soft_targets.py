"""Soft targets of KWLS in retrieval: each candidate is a label.

The words of a label are those of its sentence and of its training questions; the instances are the
training questions. Relevance is kept as sparse factors, questions x words and candidates x words:
questions x candidates, 36 GB for the 87,599 x 100,000 of SQuAD, is never made but for a batch.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from losslab.supervision import (
    classic_soft_labels,
    mean_length,
    tfidf_document_relevance,
    tfidf_label_relevance,
    word_document_relevance,
    word_label_relevance,
)
from losslab.supervision.soft_labels import softmax

Factors = tuple[sparse.csr_array, sparse.csr_array]
"""Questions x words and candidates x words; their product is the relevance."""


@dataclass(frozen=True)
class FactoredTargets:
    """``softmax_j(q_i . c_j)`` over the candidates of a batch, from the rows of two factors.

    Attributes:
        questions: questions x words (sparse), or x dimensions (dense).
        candidates: candidates x words, or x dimensions.

    >>> words = sparse.csr_array([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0]])
    >>> FactoredTargets(words[:1], words)(np.array([0]), np.array([1, 2])).tolist()
    [[0.5, 0.5]]
    """

    questions: Any
    candidates: Any

    def __call__(self, questions: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """Soft targets of some questions over some candidates, by their rows; rows sum to 1."""
        return softmax(self.relevance(questions, candidates))

    def relevance(self, questions: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """ILR of some questions and candidates: questions x candidates."""
        block = self.questions[questions] @ self.candidates[candidates].T
        return np.asarray(block.toarray() if sparse.issparse(block) else block)


@dataclass(frozen=True)
class SmoothedTargets:
    """LS-Classic over the candidates of a batch: ``(1 - eps) y + eps / C``.

    Attributes:
        positives: for each question the row of its positive.

    >>> SmoothedTargets(np.array([3]), eps=0.2)(np.array([0]), np.array([1, 3])).tolist()
    [[0.1, 0.9]]
    """

    positives: np.ndarray
    eps: float

    def __call__(self, questions: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """Soft targets of some questions over some candidates, by their rows; rows sum to 1."""
        hard = self.positives[questions][:, None] == candidates
        return np.asarray(classic_soft_labels(hard, eps=self.eps))


def keyword_factors(
    questions: sparse.csr_array,
    candidates: sparse.csr_array,
    positives: np.ndarray,
    *,
    k1: float,
    b: float,
    k2: float,
    dtype: DTypeLike = np.float32,
) -> Factors:
    """KWLS: WIR of questions, over their mean length, and WLR of candidates (eq. 1 to 7).

    Args:
        questions, candidates: word counts, texts x words.
        positives: for each question the row of its positive in ``candidates``.
    """
    counts, labels = _labelled(questions, candidates, positives)
    words = word_label_relevance(counts, labels, k1=k1, b=b, dtype=dtype)
    return _factors(
        word_document_relevance(questions, k2=k2, dtype=dtype), words, mean_length(questions)
    )


def tfidf_factors(
    questions: sparse.csr_array,
    candidates: sparse.csr_array,
    positives: np.ndarray,
    *,
    tf: str,
    dtype: DTypeLike = np.float32,
) -> Factors:
    """LS-TFIDF: ``keyword_factors`` with TF-IDF for both."""
    counts, labels = _labelled(questions, candidates, positives)
    words = tfidf_label_relevance(counts, labels, tf=tf, dtype=dtype)
    documents = tfidf_document_relevance(questions, tf=tf, dtype=dtype)
    return _factors(documents, words, mean_length(questions))


def _labelled(
    questions: sparse.csr_array, candidates: sparse.csr_array, positives: np.ndarray
) -> Factors:
    """Word counts of candidates and questions, and the candidate that each is a text of."""
    number = candidates.shape[0]
    carried = np.concatenate([np.arange(number), positives])
    ones = np.ones(len(carried), dtype=np.int32)
    labels = sparse.csr_array((ones, carried, np.arange(len(carried) + 1)), (len(carried), number))
    return sparse.csr_array(sparse.vstack([candidates, questions])), labels


def _factors(documents: sparse.csr_array, words: sparse.csr_array, length: float) -> Factors:
    scaled = documents * documents.dtype.type(1 / length)
    return sparse.csr_array(scaled), sparse.csr_array(words.T)
