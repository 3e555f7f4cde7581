"""True positives, false positives and false negatives, and the ratios made of them.

Every ratio counts 0/0 as 0; ``empty`` tells where that happened to F1.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

Counts = tuple[np.ndarray, np.ndarray, np.ndarray]
Matrix = np.ndarray | sparse.sparray
BLOCK = 2**22  # entries of a documents x labels matrix that are looked at together


def count(truth: np.ndarray, guess: np.ndarray, axis: int | None) -> Counts:
    """True positives, false positives and false negatives along an axis of boolean matrices.

    Of all entries where ``axis`` is None.
    """
    hits = (truth & guess).sum(axis=axis)
    return hits, guess.sum(axis=axis) - hits, truth.sum(axis=axis) - hits


def f1(counts: Counts) -> np.ndarray:
    """``2 tp / (2 tp + fp + fn)``."""
    hits, wrong, missed = counts
    return ratio(2 * hits, 2 * hits + wrong + missed)


def f1_empty_as_one(counts: Counts) -> np.ndarray:
    """F1, and 1 where there is nothing to find and nothing was predicted."""
    return np.where(empty(counts), 1.0, f1(counts))


def precision(counts: Counts) -> np.ndarray:
    """``tp / (tp + fp)``."""
    hits, wrong, _ = counts
    return ratio(hits, hits + wrong)


def recall(counts: Counts) -> np.ndarray:
    """``tp / (tp + fn)``."""
    hits, _, missed = counts
    return ratio(hits, hits + missed)


def ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """``part / whole``, 0 where the whole is 0: counts below 1 are 0."""
    return np.asarray(part / np.maximum(whole, 1))


def pool(counts: Counts) -> Counts:
    """The counts added up, as if there were one label."""
    hits, wrong, missed = (np.atleast_1d(figures.sum()) for figures in counts)
    return hits, wrong, missed


def micro_f1(counts: Counts) -> float:
    """F1 of the counts added up over all labels."""
    return float(f1(pool(counts))[0])


def macro_f1(counts: Counts) -> float:
    """Mean over labels of each label's F1; 0 where there is no label."""
    return mean(f1(counts))


def mean(values: np.ndarray) -> float:
    """The mean, 0 of nothing."""
    return float(values.mean()) if len(values) else 0.0


def empty(counts: Counts) -> np.ndarray:
    """Where neither truth nor prediction has a positive."""
    return np.asarray(sum(counts) == 0)


def choose(counts: Counts, labels: Any) -> Counts:
    """The counts of some labels."""
    hits, wrong, missed = (figures[np.asarray(labels, dtype=int)] for figures in counts)
    return hits, wrong, missed


def row_blocks(rows: int, columns: int) -> Iterator[slice]:
    """Slices of rows, each of at most ``BLOCK`` entries (or one row).

    >>> [block.stop for block in row_blocks(5, 2**21)]
    [2, 4, 5]
    """
    size = max(BLOCK // max(columns, 1), 1)
    for start in range(0, rows, size):
        yield slice(start, min(start + size, rows))


def dense_rows(matrix: Matrix, rows: slice) -> np.ndarray:
    """Rows of a dense or compressed sparse matrix as booleans."""
    part: Any = matrix[rows]  # type: ignore[index]
    return np.asarray(part.toarray() if sparse.issparse(part) else part).astype(bool)


def sliceable(matrix: Any, shape: tuple[int, ...]) -> Matrix:
    """A matrix whose rows can be taken; one of another shape than the scores' is refused."""
    held = sparse.csr_array(matrix) if sparse.issparse(matrix) else np.asarray(matrix)
    if held.shape != shape:
        raise ValueError(
            f"expected documents x labels {shape} as the scores have, got {held.shape}"
        )
    return held
