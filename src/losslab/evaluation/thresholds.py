"""Thresholds tuned on validation: one for all labels (Huang et al. 2021), or one per label."""

from collections.abc import Mapping

import numpy as np

from losslab.baselines import METHODS
from losslab.evaluation.confusion import (
    Counts,
    Matrix,
    confusion_counts,
    dense_rows,
    macro_f1,
    micro_f1,
    row_blocks,
    select_labels,
)
from losslab.evaluation.predictions import Decision, predict_labels
from losslab.parameters import LossSettings, ThresholdGrid


def threshold_grid(start: float, stop: float, step: float) -> np.ndarray:
    """The thresholds to try, from ``start`` on and never above ``stop``.

    >>> threshold_grid(0.4, 0.6, 0.1).tolist()
    [0.4, 0.5, 0.6]
    """
    return np.round(np.arange(int((stop - start) / step + 1e-9) + 1) * step + start, 10)


def grid_values(loss: LossSettings, grid: ThresholdGrid | None) -> tuple[float, ...] | None:
    """The thresholds to try; None for all there are, as always for scores that are no probabilities."""
    if grid is None or METHODS[loss.name].decision != "probability":
        return None
    return tuple(threshold_grid(**grid.model_dump()).tolist())


def tune_threshold(targets: Matrix, scores: np.ndarray, grid: np.ndarray | None) -> float:
    """The threshold of best micro-F1 under ``score > threshold``; the lowest wins a tie.

    Candidates are those of ``grid`` or, without one, every threshold there is.
    """
    if targets.shape != scores.shape:
        raise ValueError(f"targets {targets.shape} and scores {scores.shape} differ")
    if grid is None:
        return best_threshold(targets, scores)
    totals = np.zeros((len(grid), 3), dtype=np.int64)
    for block in row_blocks(*scores.shape):
        truth, part = dense_rows(targets, block), scores[block]
        totals += np.array([confusion_counts(truth, part > t, axis=None) for t in grid])
    scored = [micro_f1((tp, fp, fn)) for tp, fp, fn in totals]
    return float(grid[int(np.argmax(scored))])


def best_threshold(targets: Matrix, scores: np.ndarray) -> float:
    """The threshold of best micro-F1 among all; half-way between the scores it separates.

    The best one lies just below the score of a positive: any other predicts more without being
    right more often. So positives are sorted, and all scores only counted between them, block by
    block. It is 0 where there is no positive.

    >>> best_threshold(np.array([[True, False]]), np.array([[3.0, 1.0]]))
    2.0
    """
    blocks = list(row_blocks(*scores.shape))
    positives = np.sort(
        np.concatenate([scores[part][dense_rows(targets, part)] for part in blocks] or [[]])
    )
    if not len(positives):
        return 0.0
    lowest = np.unique(positives)
    counts = np.zeros(len(lowest) + 1, dtype=np.int64)
    for part in blocks:
        places = np.searchsorted(lowest, scores[part].ravel(), side="right")
        counts += np.bincount(places, minlength=len(counts))
    predicted = np.cumsum(counts[::-1])[::-1][1:]  # scores that reach each of ``lowest``
    tp = len(positives) - np.searchsorted(positives, lowest)
    best = float(lowest[int(np.argmax(2 * tp / (predicted + len(positives))))])
    below = max(_highest_below(scores[part], best) for part in blocks)
    return (best + (best - 2.0 if np.isinf(below) else below)) / 2


def _highest_below(scores: np.ndarray, limit: float) -> float:
    return float(np.max(scores, where=scores < limit, initial=-np.inf))


def label_thresholds(truth: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Each label's own threshold of best F1 among all; the lowest wins a tie.

    It lies half-way between the scores it separates; it is 0 for a label without positives.

    >>> label_thresholds(np.array([[True], [False]]), np.array([[3.0], [1.0]]))
    array([2.])
    """
    thresholds = np.zeros(truth.shape[1])
    with_positives = np.flatnonzero(truth.any(axis=0))
    for block in row_blocks(len(with_positives), len(truth)):
        labels = with_positives[block]
        thresholds[labels] = _best_thresholds(truth[:, labels], scores[:, labels])
    return thresholds


def _best_thresholds(truth: np.ndarray, scores: np.ndarray) -> np.ndarray:
    order = np.argsort(-scores, axis=0, kind="stable")
    ranked = np.take_along_axis(scores, order, axis=0).astype(np.float64)
    tp = np.cumsum(np.take_along_axis(truth, order, axis=0), axis=0)
    predicted = np.arange(1, len(ranked) + 1)[:, None]
    f1 = 2 * tp / (predicted + truth.sum(axis=0))
    below = np.vstack([ranked[1:], ranked[-1:] - 2.0])
    f1[ranked == below] = -1.0  # no threshold separates equal scores
    last = len(ranked) - 1 - np.argmax(f1[::-1], axis=0)
    columns = np.arange(truth.shape[1])
    return np.asarray((ranked[last, columns] + below[last, columns]) / 2)


def judge_epoch(
    targets: Matrix,
    scores: np.ndarray,
    *,
    grid: np.ndarray | None,
    threshold: float | None = None,
    task: str = "multi",
    groups: Mapping[str, np.ndarray] | None = None,
) -> dict[str, float]:
    """Validation metrics of an epoch, by the protocol of the test split: what models are chosen by.

    ``subset_accuracy`` is the share of documents whose label set is exactly right.

    Args:
        targets: documents x labels, dense or sparse.
        grid: the candidates of a tuned threshold, see ``tune_threshold``.
        threshold: a fixed one in its place; metrics of single-label tasks have no ``threshold``.
        groups: label indices by name; adds ``<group>_micro_f1`` and ``<group>_macro_f1``.
    """
    decision: dict[str, float] = {"k": 1}
    if task != "single":
        tuned = tune_threshold(targets, scores, grid) if threshold is None else threshold
        decision = {"threshold": tuned}
    counts, exact = count_decision(targets, scores, decision)
    metrics = {"macro_f1": macro_f1(counts), "micro_f1": micro_f1(counts)}
    metrics["subset_accuracy"] = exact / max(len(scores), 1)
    for name, labels in (groups or {}).items():
        part = select_labels(counts, labels)
        metrics[f"{name}_micro_f1"] = micro_f1(part)
        metrics[f"{name}_macro_f1"] = macro_f1(part)
    return metrics if task == "single" else {**metrics, **decision}


def count_decision(targets: Matrix, scores: np.ndarray, decision: Decision) -> tuple[Counts, int]:
    """Confusion counts of a decision by label, and how many documents are exactly right."""
    totals, exact = np.zeros((3, scores.shape[1]), dtype=np.int64), 0
    for block in row_blocks(*scores.shape):
        truth, predicted = dense_rows(targets, block), predict_labels(decision, scores[block])
        totals += confusion_counts(truth, predicted, axis=0)
        exact += int((truth == predicted).all(axis=1).sum())
    tp, fp, fn = totals
    return (tp, fp, fn), exact
