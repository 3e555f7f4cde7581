"""Score curves of a loss on the test split, in one tidy table.

Columns are ``curve x y low high weight at document``. Of ``sorted_scores`` x is the rank of a label in
its document, y the median score there, low and high the quartiles; ``knee`` is that of the median,
``examples`` are single documents, numbered as in the split. Of ``reliability`` x is the mean score of
a bin, y its share of true labels, weight its size. Of ``precision_recall`` x is recall, y precision, at
the threshold; ``decision`` is the operating point of the primary rule.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.evaluation.confusion import label_counts, pool, precision, recall
from losslab.evaluation.probability_metrics import count_bins

COLUMNS = ("curve", "x", "y", "low", "high", "weight", "at", "document")
MAX_RANKS = 60  # ranks that are shown
MAX_DOCUMENTS = 2000  # whose rankings are used: quartiles need no more
MAX_EXAMPLES = 25  # documents that are shown by themselves
THRESHOLDS = 100
ROUNDING = 1e-9


def compute_score_curves(
    truth: sparse.csr_array,
    scores: np.ndarray,
    predictions: Sequence[sparse.csr_array],
    *,
    probability: bool,
) -> pd.DataFrame:
    """The curves of one loss, seeds pooled.

    Args:
        truth: documents x labels.
        scores: seeds x documents x labels.
        predictions: documents x labels of each seed, by the primary rule.
        probability: whether scores are probabilities; others have neither a common scale nor a
            calibration.
    """
    dense = truth.toarray().astype(bool)
    parts = [_precision_recall(dense, scores), _operating_point(truth, predictions)]
    if probability:
        ranked = _sorted_scores(scores)
        parts += [ranked, _knee(ranked), _examples(scores[0]), _reliability(dense, scores)]
    return pd.concat(parts, ignore_index=True).reindex(columns=list(COLUMNS))


def _precision_recall(truth: np.ndarray, scores: np.ndarray) -> pd.DataFrame:
    """Micro-averaged, at quantiles of the true labels' scores."""
    positives = np.concatenate([part[truth] for part in scores])
    if not len(positives):
        return pd.DataFrame({"curve": []})
    steps = np.linspace(0, 1, THRESHOLDS + 1)
    thresholds = np.unique(np.quantile(positives, steps, method="lower"))
    predicted = sum(_count_from(part.ravel(), thresholds) for part in scores)
    tp = _count_from(positives, thresholds)
    return pd.DataFrame(
        {"curve": "precision_recall", "x": tp / len(positives), "y": tp / predicted}
        | {"at": thresholds}
    )


def _count_from(values: np.ndarray, thresholds: np.ndarray) -> np.ndarray:
    """How many values are at or above each of the ascending thresholds."""
    bins = np.searchsorted(thresholds, values, side="right")
    counts = np.bincount(bins, minlength=len(thresholds) + 1)
    return np.asarray(counts[::-1].cumsum()[::-1][1:])


def _operating_point(
    truth: sparse.csr_array, predictions: Sequence[sparse.csr_array]
) -> pd.DataFrame:
    """Micro-averaged recall and precision of the predictions, over all seeds."""
    counts = [np.concatenate(pool(label_counts(truth, part))) for part in predictions]
    tp, fp, fn = np.sum(counts, axis=0)
    point = {"x": float(recall((tp, fp, fn))), "y": float(precision((tp, fp, fn)))}
    return pd.DataFrame([{"curve": "decision", **point}])


def _sorted_scores(scores: np.ndarray) -> pd.DataFrame:
    step = max(scores.shape[1] // MAX_DOCUMENTS, 1)
    ranked = _rank(scores[:, ::step].reshape(-1, scores.shape[2]))
    low, median, high = np.quantile(ranked, [0.25, 0.5, 0.75], axis=0)
    ranks = np.arange(1, ranked.shape[1] + 1)
    return pd.DataFrame(
        {"curve": "sorted_scores", "x": ranks, "y": median, "low": low, "high": high}
    )


def _examples(scores: np.ndarray) -> pd.DataFrame:
    """Documents spread evenly over the split, with the scores of one seed."""
    shown = min(len(scores), MAX_EXAMPLES)
    rows = np.linspace(0, len(scores) - 1, shown).round().astype(int)
    ranked = _rank(scores[rows])
    ranks = np.tile(np.arange(1, ranked.shape[1] + 1), shown)
    documents = np.repeat(rows, ranked.shape[1])
    return pd.DataFrame(
        {"curve": "examples", "x": ranks, "y": ranked.ravel(), "document": documents}
    )


def _rank(scores: np.ndarray) -> np.ndarray:
    """The highest scores of each document, in falling order."""
    return np.asarray(-np.sort(-scores, axis=1)[:, :MAX_RANKS])


def _knee(ranked: pd.DataFrame) -> pd.DataFrame:
    """The point of the median curve at its knee; no row where it has none."""
    place = find_knee(ranked["y"].to_numpy())
    return ranked.iloc[[] if place is None else [place]][["x", "y"]].assign(curve="knee")


def find_knee(values: np.ndarray) -> int | None:
    """Where a falling curve bends: its point farthest below the line from its first to its last.

    None for a curve that is nowhere below that line.

    >>> find_knee(np.array([0.9, 0.7, 0.2, 0.1, 0.0]))
    2
    """
    if len(values) < 3:
        return None
    below = np.linspace(values[0], values[-1], len(values)) - values
    place = int(np.argmax(below))
    return place if below[place] > ROUNDING else None


def _reliability(truth: np.ndarray, scores: np.ndarray) -> pd.DataFrame:
    counts = np.sum([count_bins(truth, part).sum(axis=1) for part in scores], axis=0)
    entries, total, positives = counts[:, counts[0] > 0]
    x, y = total / entries, positives / entries
    return pd.DataFrame({"curve": "reliability", "x": x, "y": y, "weight": entries})
