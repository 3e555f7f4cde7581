"""Confusion counts (tp, fp, fn) of documents x labels matrices, and the ratios made of them.

Every ratio counts 0/0 as 0; ``undefined`` says where that happened to F1.
"""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

Counts = tuple[np.ndarray, np.ndarray, np.ndarray]
"""True positives, false positives, false negatives."""
Matrix: TypeAlias = np.ndarray | sparse.sparray
BLOCK = 2**22  # entries of a documents x labels matrix that are held dense together


def confusion_counts(truth: np.ndarray, predicted: np.ndarray, axis: int | None) -> Counts:
    """tp, fp and fn along an axis of dense boolean matrices; of all entries where it is None."""
    tp = (truth & predicted).sum(axis=axis)
    return tp, predicted.sum(axis=axis) - tp, truth.sum(axis=axis) - tp


def label_counts(truth: sparse.csr_array, predicted: sparse.csr_array) -> Counts:
    """tp, fp and fn by label, of sparse matrices of 0 and 1."""
    truth, predicted = truth.astype(np.int64), predicted.astype(np.int64)
    tp = truth.multiply(predicted).sum(axis=0)
    return tp, predicted.sum(axis=0) - tp, truth.sum(axis=0) - tp


def f1(counts: Counts) -> np.ndarray:
    """``2 tp / (2 tp + fp + fn)``."""
    tp, fp, fn = counts
    return ratio(2 * tp, 2 * tp + fp + fn)


def f1_empty_as_one(counts: Counts) -> np.ndarray:
    """F1, and 1 where there are neither positives nor predictions."""
    return np.where(undefined(counts), 1.0, f1(counts))


def f1_by_label(truth: sparse.csr_array, predictions: Sequence[sparse.csr_array]) -> np.ndarray:
    """Each label's F1, the mean over the predictions of several seeds."""
    mean: np.ndarray = np.mean([f1(label_counts(truth, part)) for part in predictions], axis=0)
    return mean


def precision(counts: Counts) -> np.ndarray:
    """``tp / (tp + fp)``."""
    tp, fp, _ = counts
    return ratio(tp, tp + fp)


def recall(counts: Counts) -> np.ndarray:
    """``tp / (tp + fn)``."""
    tp, _, fn = counts
    return ratio(tp, tp + fn)


def ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """The quotient of counts, 0 where the denominator is 0."""
    return np.asarray(numerator / np.maximum(denominator, 1))


def harmonic_mean(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """``2 a b / (a + b)``, 0 where both are 0.

    >>> harmonic_mean(np.array([0.5, 0.0]), np.array([1.0, 0.0])).round(3).tolist()
    [0.667, 0.0]
    """
    total = first + second
    return np.asarray(2 * first * second / np.where(total > 0, total, 1))


def pool(counts: Counts) -> Counts:
    """Micro-averaging: the counts summed over labels."""
    tp, fp, fn = (np.atleast_1d(part.sum()) for part in counts)
    return tp, fp, fn


def micro_f1(counts: Counts) -> float:
    """F1 of the pooled counts."""
    return float(f1(pool(counts))[0])


def macro_f1(counts: Counts) -> float:
    """Mean of the labels' F1; 0 where there is no label."""
    return mean(f1(counts))


def mean(values: np.ndarray) -> float:
    """The mean, 0 of nothing."""
    return float(values.mean()) if len(values) else 0.0


def undefined(counts: Counts) -> np.ndarray:
    """Where F1 is 0/0: neither positives nor predictions."""
    return np.asarray(sum(counts) == 0)


def select_labels(counts: Counts, labels: Any) -> Counts:
    """The counts of some labels."""
    tp, fp, fn = (part[np.asarray(labels, dtype=int)] for part in counts)
    return tp, fp, fn


def row_blocks(rows: int, columns: int) -> Iterator[slice]:
    """Slices of rows, each of at most ``BLOCK`` entries (or one row).

    >>> [block.stop for block in row_blocks(5, 2**21)]
    [2, 4, 5]
    """
    size = max(BLOCK // max(columns, 1), 1)
    for start in range(0, rows, size):
        yield slice(start, min(start + size, rows))


def dense_rows(matrix: Matrix, rows: slice) -> np.ndarray:
    """Rows of a dense or compressed sparse matrix as dense booleans."""
    if isinstance(matrix, np.ndarray):
        return np.asarray(matrix[rows]).astype(bool)
    part = sparse.csr_array(matrix)[rows]
    return np.asarray(part.toarray()).astype(bool)


def require_shape(matrix: Any, shape: tuple[int, ...]) -> Matrix:
    """A matrix that can be sliced by rows; one of another shape than the scores' is an error."""
    sliceable = sparse.csr_array(matrix) if sparse.issparse(matrix) else np.asarray(matrix)
    if sliceable.shape != shape:
        raise ValueError(
            f"expected documents x labels {shape} as the scores have, got {sliceable.shape}"
        )
    return sliceable
