"""Metrics of multi-label classification on documents x labels matrices.

Papers differ on undefined cases. Here ``macro_f1`` counts a label with neither positives nor
predictions as 0 (Huang et al.), ``macro_f1_absent_as_one`` as 1 (ZLPR); ``example_f1`` counts an
empty prediction of an empty row as 1, ``average_precision`` an empty row as 0 and ``ranking_loss``
an empty or full row as 0 (all ZLPR). ``undefined_*`` say how many labels and rows are concerned.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import label_ranking_average_precision_score, label_ranking_loss

Counts = tuple[np.ndarray, np.ndarray, np.ndarray]


def compute_metrics(
    targets: np.ndarray | sparse.sparray,
    scores: np.ndarray,
    predictions: np.ndarray,
    *,
    groups: Mapping[str, Sequence[int]] | None = None,
) -> dict[str, float]:
    """Every metric by name.

    Args:
        targets: documents x labels, 0 or 1, dense or sparse.
        scores: documents x labels, higher means likelier; only their order in a row counts.
        predictions: documents x labels, 0 or 1.
        groups: label indices by group name; adds ``<group>/micro_f1`` and ``<group>/macro_f1``.
    """
    truth = _dense(targets, scores.shape)
    guess = _dense(predictions, scores.shape)
    by_label, by_row = count(truth, guess, axis=0), count(truth, guess, axis=1)
    ratio = f1(by_label)
    row_f1 = np.where(empty(by_row), 1.0, f1(by_row))
    metrics = {
        "micro_f1": micro_f1(by_label),
        "macro_f1": macro_f1(by_label),
        "macro_f1_absent_as_one": float(np.where(empty(by_label), 1.0, ratio).mean()),
        "weighted_f1": _weighted_mean(ratio, truth.sum(axis=0)),
        "example_f1": float(row_f1.mean()),
        "subset_accuracy": float((truth == guess).all(axis=1).mean()),
        "hamming_loss": float((truth != guess).mean()),
        **_ranking(truth, scores),
        "undefined_labels": int(empty(by_label).sum()),
        "undefined_rows": int(empty(by_row).sum()),
    }
    for name, labels in (groups or {}).items():
        part: Any = tuple(figures[list(labels)] for figures in by_label)
        metrics[f"{name}/micro_f1"] = micro_f1(part)
        metrics[f"{name}/macro_f1"] = macro_f1(part)
    return metrics


def count(truth: np.ndarray, guess: np.ndarray, axis: int) -> Counts:
    """True positives, false positives and false negatives along an axis of boolean matrices."""
    hits = (truth & guess).sum(axis=axis)
    return hits, guess.sum(axis=axis) - hits, truth.sum(axis=axis) - hits


def f1(counts: Counts) -> np.ndarray:
    """``2 tp / (2 tp + fp + fn)``, and 0 where that is 0/0."""
    hits, wrong, missed = counts
    return 2 * hits / np.maximum(2 * hits + wrong + missed, 1)


def micro_f1(counts: Counts) -> float:
    """F1 of the counts added up over all labels."""
    return float(f1(tuple(np.atleast_1d(figures.sum()) for figures in counts))[0])  # type: ignore[arg-type]


def macro_f1(counts: Counts) -> float:
    """Mean over labels of each label's F1; 0 where there is no label."""
    return float(f1(counts).mean()) if len(counts[0]) else 0.0


def empty(counts: Counts) -> np.ndarray:
    """Where neither truth nor prediction has a positive."""
    return sum(counts) == 0  # type: ignore[return-value]


def _ranking(truth: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    some = truth.any(axis=1)
    precision, loss = 1.0, 0.0
    if truth.shape[1] > 1 and some.any():  # a single label leaves nothing to rank
        precision = label_ranking_average_precision_score(truth[some], scores[some])
        loss = label_ranking_loss(truth, scores)
    return {
        "average_precision": float(precision * some.mean()),
        "ranking_loss": float(loss),
        "rows_without_labels": int((~some).sum()),
    }


def _weighted_mean(values: np.ndarray, weights: np.ndarray) -> float:
    return float(values @ weights / max(weights.sum(), 1))


def _dense(matrix: Any, shape: tuple[int, ...]) -> np.ndarray:
    dense = np.asarray(matrix.toarray() if sparse.issparse(matrix) else matrix)
    if dense.shape != shape:
        raise ValueError(
            f"expected documents x labels {shape} as the scores have, got {dense.shape}"
        )
    return dense.astype(bool)
