"""Evaluation: decision rules, predictions, metrics, bootstrap, error analysis, comparability."""

from losslab.evaluation.bootstrap import (
    average_seeds,
    compare_with_reference,
    holm,
    intervals,
    resample_metrics,
)
from losslab.evaluation.comparability import (
    find_mismatches,
    fingerprint,
    refuse_mismatches,
    refuse_other_data,
    refuse_other_scores,
)
from losslab.evaluation.convergence import (
    MARK,
    describe_training,
    falls_steadily,
    summarise_trainings,
    training_facts,
)
from losslab.evaluation.cross_validation import (
    compare_folds,
    fold_marks,
    refuse_mixed_folds,
    shared_conditions,
    tabulate_folds,
)
from losslab.evaluation.decision_rules import (
    choose_primary_rule,
    compare_rules,
    fit_decision_rules,
    fit_decisions,
    fit_k,
    fit_label_thresholds,
    fit_logit_adjustment,
    fit_scutfbr,
    label_priors,
)
from losslab.evaluation.disagreements import find_cases, tabulate_disagreements
from losslab.evaluation.error_analysis import analyse_errors, pool_confusions
from losslab.evaluation.identical import explain_idleness, identical_losses
from losslab.evaluation.label_noise import MIN_DOUBT, doubt_labels, find_suspects
from losslab.evaluation.meta_analysis import combine_comparisons
from losslab.evaluation.metrics import LOWER_IS_BETTER, compute_metrics
from losslab.evaluation.posterior import tabulate_posterior
from losslab.evaluation.predictions import Predictions, predict, predict_labels
from losslab.evaluation.probability_metrics import calibration_error
from losslab.evaluation.propensity import inverse_propensities
from losslab.evaluation.results import evaluate_loss, own_results, summarise_seeds
from losslab.evaluation.score_curves import compute_score_curves
from losslab.evaluation.thresholds import (
    best_threshold,
    grid_values,
    judge_epoch,
    label_thresholds,
    threshold_grid,
    tune_threshold,
)
from losslab.evaluation.trivial import beats_trivial, best_trivial_metric, trivial_metrics

__all__ = [
    "LOWER_IS_BETTER",
    "MARK",
    "MIN_DOUBT",
    "Predictions",
    "analyse_errors",
    "average_seeds",
    "beats_trivial",
    "best_threshold",
    "best_trivial_metric",
    "calibration_error",
    "choose_primary_rule",
    "combine_comparisons",
    "compare_folds",
    "compare_rules",
    "compare_with_reference",
    "compute_metrics",
    "compute_score_curves",
    "describe_training",
    "doubt_labels",
    "evaluate_loss",
    "explain_idleness",
    "falls_steadily",
    "find_cases",
    "find_mismatches",
    "find_suspects",
    "fingerprint",
    "fit_decision_rules",
    "fit_decisions",
    "fit_k",
    "fit_label_thresholds",
    "fit_logit_adjustment",
    "fit_scutfbr",
    "fold_marks",
    "grid_values",
    "holm",
    "identical_losses",
    "intervals",
    "inverse_propensities",
    "judge_epoch",
    "label_priors",
    "label_thresholds",
    "own_results",
    "pool_confusions",
    "predict",
    "predict_labels",
    "refuse_mismatches",
    "refuse_mixed_folds",
    "refuse_other_data",
    "refuse_other_scores",
    "resample_metrics",
    "shared_conditions",
    "summarise_seeds",
    "summarise_trainings",
    "tabulate_disagreements",
    "tabulate_folds",
    "tabulate_posterior",
    "threshold_grid",
    "training_facts",
    "trivial_metrics",
    "tune_threshold",
]
