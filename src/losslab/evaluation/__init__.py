"""Judging a classifier: probabilities, thresholds, metrics."""

from losslab.evaluation.decisions import PROBABILITIES, probabilities
from losslab.evaluation.metrics import compute_metrics, macro_f1, micro_f1
from losslab.evaluation.seeds import summarise_seeds
from losslab.evaluation.thresholds import judge_epoch, threshold_grid, tune_threshold

__all__ = [
    "PROBABILITIES",
    "compute_metrics",
    "judge_epoch",
    "macro_f1",
    "micro_f1",
    "probabilities",
    "summarise_seeds",
    "threshold_grid",
    "tune_threshold",
]
