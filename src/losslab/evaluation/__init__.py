"""Judging a classifier: decisions, metrics, uncertainty, errors."""

from losslab.errors import IncomparableError
from losslab.evaluation.conditions import (
    find_mixtures,
    fingerprint,
    fingerprint_data,
    refuse_mixtures,
    refuse_other_data,
)
from losslab.evaluation.counts import macro_f1, micro_f1
from losslab.evaluation.decisions import (
    apply_decision,
    compare_rules,
    decided,
    fit_decisions,
    fit_k,
    fit_label_thresholds,
    primary_rule,
)
from losslab.evaluation.errors import analyse_errors
from losslab.evaluation.folds import compare_folds
from losslab.evaluation.metrics import LOWER_IS_BETTER, compute_metrics
from losslab.evaluation.seeds import summarise_seeds
from losslab.evaluation.standings import combine_comparisons
from losslab.evaluation.thresholds import (
    best_cut,
    judge_epoch,
    label_cuts,
    most_likely,
    threshold_grid,
    tune_threshold,
)
from losslab.evaluation.uncertainty import (
    average_seeds,
    compare_with_reference,
    holm,
    intervals,
    resample_metrics,
)

__all__ = [
    "LOWER_IS_BETTER",
    "analyse_errors",
    "apply_decision",
    "average_seeds",
    "best_cut",
    "combine_comparisons",
    "compare_folds",
    "compare_rules",
    "compare_with_reference",
    "compute_metrics",
    "decided",
    "find_mixtures",
    "fingerprint",
    "fingerprint_data",
    "fit_decisions",
    "fit_k",
    "fit_label_thresholds",
    "holm",
    "intervals",
    "judge_epoch",
    "label_cuts",
    "macro_f1",
    "micro_f1",
    "most_likely",
    "primary_rule",
    "refuse_mixtures",
    "refuse_other_data",
    "resample_metrics",
    "summarise_seeds",
    "threshold_grid",
    "tune_threshold",
]
