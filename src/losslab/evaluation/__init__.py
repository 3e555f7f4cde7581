"""Judging a classifier: thresholds, metrics, seeds."""

from losslab.evaluation.metrics import compute_metrics, macro_f1, micro_f1
from losslab.evaluation.seeds import summarise_seeds
from losslab.evaluation.thresholds import (
    best_cut,
    judge_epoch,
    most_likely,
    threshold_grid,
    tune_threshold,
)

__all__ = [
    "best_cut",
    "compute_metrics",
    "judge_epoch",
    "macro_f1",
    "micro_f1",
    "most_likely",
    "summarise_seeds",
    "threshold_grid",
    "tune_threshold",
]
