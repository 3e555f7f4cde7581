"""What a loss's scores look like on test: curves that a figure can show, in one tidy table.

Columns are ``curve x y low high weight at``. Of ``sorted_scores`` x is the place of a label in its
document's ranking, y the median score there, low and high the quartiles. Of ``reliability`` x is
the mean score of a bin, y the share of its labels that are true, weight how many there are. Of
``precision_recall`` x is recall, y precision, at the threshold; ``decision`` is the point of it
that was chosen. Of ``label_f1`` x is the label's number, y its F1.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.evaluation.metrics import count, f1
from losslab.evaluation.thresholds import most_likely

COLUMNS = ("curve", "x", "y", "low", "high", "weight", "at")
MOST_RANKS = 60  # places of a ranking that are shown
MOST_DOCUMENTS = 2000  # whose rankings are looked at: quartiles need no more
CUTS = 100
BINS = 10


def profile_scores(
    truth: sparse.csr_array,
    scores: np.ndarray,
    thresholds: Sequence[float] | None,
    *,
    probability: bool,
) -> pd.DataFrame:
    """The curves of one loss.

    Args:
        truth: documents x labels.
        scores: seeds x documents x labels; seeds are pooled.
        thresholds: one per seed; None where the likeliest label is chosen.
        probability: whether scores are probabilities; others have neither a scale that could be
            compared nor a calibration.
    """
    dense = truth.toarray().astype(bool)
    guesses = [
        most_likely(part) if thresholds is None else part > thresholds[seed]
        for seed, part in enumerate(scores)
    ]
    parts = [
        _label_f1(dense, guesses),
        _precision_recall(dense, scores),
        _decision(dense, guesses, thresholds),
    ]
    if probability:
        parts += [_sorted_scores(scores), _reliability(dense, scores)]
    return pd.concat(parts, ignore_index=True).reindex(columns=COLUMNS)


def _label_f1(truth: np.ndarray, guesses: Sequence[np.ndarray]) -> pd.DataFrame:
    mean = np.mean([f1(count(truth, guess, axis=0)) for guess in guesses], axis=0)
    return pd.DataFrame({"curve": "label_f1", "x": np.arange(len(mean)), "y": mean})


def _precision_recall(truth: np.ndarray, scores: np.ndarray) -> pd.DataFrame:
    """Micro-averaged, at thresholds that step evenly through the scores of true labels."""
    positives = np.concatenate([part[truth] for part in scores])
    if not len(positives):
        return pd.DataFrame({"curve": []})
    cuts = np.unique(np.quantile(positives, np.linspace(0, 1, CUTS + 1), method="lower"))
    above = sum(_count_from(part.ravel(), cuts) for part in scores)
    hits = _count_from(positives, cuts)
    return pd.DataFrame(
        {"curve": "precision_recall", "x": hits / len(positives), "y": hits / above, "at": cuts}
    )


def _count_from(values: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """How many values are at or above each of the ascending cuts."""
    places = np.bincount(np.searchsorted(cuts, values, side="right"), minlength=len(cuts) + 1)
    return places[::-1].cumsum()[::-1][1:]


def _decision(
    truth: np.ndarray, guesses: Sequence[np.ndarray], thresholds: Sequence[float] | None
) -> pd.DataFrame:
    """The point the decisions stand for, over all seeds."""
    hits, wrong, missed = np.sum([count(truth, guess, axis=None) for guess in guesses], axis=0)
    point = {"x": hits / max(hits + missed, 1), "y": hits / max(hits + wrong, 1)}
    cut = np.nan if thresholds is None else float(np.mean(thresholds))
    return pd.DataFrame([{"curve": "decision", **point, "at": cut}])


def _sorted_scores(scores: np.ndarray) -> pd.DataFrame:
    step = max(scores.shape[1] // MOST_DOCUMENTS, 1)
    rows = scores[:, ::step].reshape(-1, scores.shape[2])
    ranked = -np.sort(-rows, axis=1)[:, :MOST_RANKS]
    low, median, high = np.quantile(ranked, [0.25, 0.5, 0.75], axis=0)
    places = np.arange(1, ranked.shape[1] + 1)
    return pd.DataFrame(
        {"curve": "sorted_scores", "x": places, "y": median, "low": low, "high": high}
    )


def _reliability(truth: np.ndarray, scores: np.ndarray) -> pd.DataFrame:
    size, total, true = (np.zeros(BINS) for _ in range(3))
    for part in scores:
        bins = np.clip((part.ravel() * BINS).astype(int), 0, BINS - 1)
        size += np.bincount(bins, minlength=BINS)
        total += np.bincount(bins, weights=part.ravel(), minlength=BINS)
        true += np.bincount(bins, weights=truth.ravel(), minlength=BINS)
    some = size > 0
    x, y = total[some] / size[some], true[some] / size[some]
    return pd.DataFrame({"curve": "reliability", "x": x, "y": y, "weight": size[some]})
