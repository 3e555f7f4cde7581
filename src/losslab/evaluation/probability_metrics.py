"""Metrics of scores that are probabilities: Brier score, log loss, calibration error.

They judge every entry of documents x labels by itself, on single-label data, too: the Brier score
there is that of the classes' vector divided by their number. Probabilities of 0 and 1 are moved inside
by the precision of their type before the logarithm, as scikit-learn does.
"""

import numpy as np

BINS = 10
"""Of equal width, between 0 and 1."""


def probability_metrics(truth: np.ndarray, scores: np.ndarray) -> dict[str, np.ndarray]:
    """Brier score and log loss of each document of a block, the mean over its labels."""
    tiny = np.finfo(scores.dtype).eps
    likelihood = np.clip(np.where(truth, scores, 1 - scores), tiny, 1 - tiny)
    return {
        "brier_score": np.square(scores - truth).mean(axis=1, dtype=float),
        "log_loss": -np.log(likelihood).mean(axis=1, dtype=float),
    }


def count_bins(truth: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """By label and bin of the score: entries, sum of scores, positives (3 x labels x bins).

    >>> counts = count_bins(np.array([[True], [False]]), np.array([[0.25], [0.21]]))
    >>> counts[:, 0, 2].round(2).tolist()
    [2.0, 0.46, 1.0]
    """
    labels = scores.shape[1]
    bins = np.clip((scores * BINS).astype(np.int64), 0, BINS - 1)
    cells = bins + BINS * np.arange(labels)
    counts = [
        np.bincount(cells.ravel(), minlength=labels * BINS),
        np.bincount(cells.ravel(), weights=scores.ravel(), minlength=labels * BINS),
        np.bincount(cells[truth], minlength=labels * BINS),
    ]
    return np.stack(counts).astype(float).reshape(3, labels, BINS)


def calibration_error(counts: np.ndarray) -> float:
    """Expected calibration error: mean distance of scores and shares of positives over bins.

    ``counts``: entries, sum of scores and positives by bin; there must be an entry.

    >>> calibration_error(np.array([[3, 1], [0.3, 0.9], [0.6, 0.9]]))
    0.075
    """
    entries, total, positives = counts
    return round(float(np.abs(total - positives).sum() / entries.sum()), 12)
