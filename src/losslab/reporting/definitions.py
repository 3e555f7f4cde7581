"""The words of a report: metrics, decision rules and terms with their definitions."""

from dataclasses import dataclass

from losslab.evaluation import LOWER_IS_BETTER
from losslab.evaluation.ranking_metrics import AT


@dataclass(frozen=True)
class Term:
    """A term as the page defines it."""

    name: str
    meaning: str


_F1 = "F1 is 2 tp / (2 tp + fp + fn)."
_GROUPS = {"head": "the head labels", "medium": "the medium labels", "tail": "the tail labels"}
_BY_FREQUENCY = "Head, medium and tail are groups of labels by training frequency."
_PROPENSITY = (
    "each weighted by 1 / propensity, which is the larger the rarer the label is in training (Jain et "
    "al., A 0.55, B 1.5), divided by what the best order reaches."
)
_OF_SCORES = "Missing for losses whose scores are not probabilities. Lower is better."
_CALIBRATION = (
    "Expected calibration error over ten bins: distance of mean score and share of true labels, "
    "weighted by bin size."
)

METRICS = {
    "micro_f1": Term(
        "micro-F1", f"{_F1} Counts are pooled over all labels, so that frequent labels dominate."
    ),
    "macro_f1": Term(
        "macro-F1",
        f"{_F1} Mean of the labels' F1, so that rare labels count as much as frequent ones. A label "
        "with neither positives nor predictions counts as 0.",
    ),
    **{
        f"{group}/macro_f1": Term(f"{group} macro-F1", f"Macro-F1 over {labels}. {_BY_FREQUENCY}")
        for group, labels in _GROUPS.items()
    },
    "macro_f1_of_averages": Term(
        "F1 of macro averages",
        "2 P R / (P + R) of macro precision P and macro recall R, which some papers call macro-F1. "
        "Never below macro-F1, and far above it where some labels have high precision and others high "
        "recall (Opitz and Burst).",
    ),
    "macro_average_precision": Term(
        "macro average precision",
        "Mean average precision (mAP): documents are ranked by a label's score, precision is averaged "
        "at the rank of each positive, then over labels. Independent of thresholds. A label without "
        "test positives counts as 0.",
    ),
    "tail/macro_average_precision": Term(
        "tail macro average precision",
        f"Macro average precision over the tail labels. {_BY_FREQUENCY}",
    ),
    "average_precision": Term(
        "average precision",
        "Label ranking average precision: precision at the rank of each true label, averaged over a "
        "document's true labels, then over documents. Independent of thresholds. A document without "
        "labels counts as 0.",
    ),
    "ranking_loss": Term(
        "ranking loss",
        "Share of a document's (true, false) label pairs that are ranked in the wrong order. A "
        "document with no label, or with all, counts as 0. Lower is better.",
    ),
    "coverage_error": Term(
        "coverage error",
        "How many labels of highest score have to be read until all true ones are among them, mean over "
        "documents. At best it is the number of labels per document. A document without labels counts "
        "as 0. Lower is better.",
    ),
    "one_error": Term(
        "one-error",
        "Share of documents whose label of highest score is not a true one: 1 minus precision at 1. A "
        "document without labels counts as 1. Lower is better.",
    ),
    "r_precision_at_5": Term(
        "R-precision at 5",
        "True labels among the five of highest score, over the most there could be: five, or the "
        "document's number of labels. A document without labels counts as 0.",
    ),
    **{
        f"psp_at_{k}": Term(
            f"PSP at {k}",
            f"Propensity-scored precision: true labels among the first {k}, {_PROPENSITY}",
        )
        for k in (1, 3, 5)
    },
    "psndcg_at_5": Term(
        "PSnDCG at 5", f"Propensity-scored nDCG: discounted gain of the first five, {_PROPENSITY}"
    ),
    "psr_at_5": Term(
        "PSR at 5",
        f"Propensity-scored recall: share of a document's labels among the first five, {_PROPENSITY}",
    ),
    "weighted_f1": Term(
        "weighted F1", f"{_F1} Mean of the labels' F1, weighted by their number of positives."
    ),
    "example_f1": Term(
        "example F1",
        f"{_F1} Computed per document, then averaged over documents. A document with neither labels "
        "nor predictions counts as 1.",
    ),
    "subset_accuracy": Term(
        "subset accuracy", "Share of documents whose label set is exactly right."
    ),
    "brier_score": Term(
        "Brier score",
        f"Mean squared distance of probability and label, over all documents and labels. {_OF_SCORES}",
    ),
    "log_loss": Term(
        "log loss",
        "Mean negative logarithm of the probability given to what is true, over all documents and "
        f"labels. {_OF_SCORES}",
    ),
    "calibration_error": Term("calibration error", f"{_CALIBRATION} {_OF_SCORES}"),
    **{
        f"{group}/calibration_error": Term(
            f"{group} calibration error",
            f"{_CALIBRATION} Over {labels}. {_BY_FREQUENCY} {_OF_SCORES}",
        )
        for group, labels in _GROUPS.items()
    },
    **{
        f"{group}/micro_f1": Term(f"{group} micro-F1", f"Micro-F1 over {labels}. {_BY_FREQUENCY}")
        for group, labels in _GROUPS.items()
    },
}
"""The metrics that losses are ranked by. ``metrics.json`` has more: other k, other conventions."""

_RATIOS = {
    "precision": ("tp / (tp + fp)", "of the labels predicted, the share that is true"),
    "recall": ("tp / (tp + fn)", "of the true labels, the share that is predicted"),
}
_POOLS = {
    "micro": "Counts are pooled over all labels.",
    "macro": "Mean over labels; 0/0 is 0.",
    "example": "Mean over documents; 0/0 is 0.",
}
_AT_K = {
    "precision": "Share of true labels among the k of highest score, mean over documents.",
    "recall": "Share of a document's labels among the k of highest score, mean over documents.",
    "ndcg": "Discounted cumulative gain of the k labels of highest score, over the best possible.",
}
MORE_METRICS = {
    **{
        f"{pool}_{name}": Term(f"{pool} {name}", f"{formula}: {meaning}. {how}")
        for pool, how in _POOLS.items()
        for name, (formula, meaning) in _RATIOS.items()
    },
    **{
        f"{name}_at_{k}": Term(f"{name}@{k}", f"{meaning} k is {k}. Independent of thresholds.")
        for name, meaning in _AT_K.items()
        for k in AT
    },
    "hamming_loss": Term(
        "Hamming loss",
        "Share of wrong entries, document x label. Small wherever labels are rare. Lower is better.",
    ),
}
"""Metrics that can be chosen as columns; losses are not ranked by them."""

COLUMNS = {key: metric.name for key, metric in {**METRICS, **MORE_METRICS}.items()}
"""Names of all metrics as column titles."""
SHOWN_COLUMNS = (
    "micro_f1",
    "macro_f1",
    "head/macro_f1",
    "medium/macro_f1",
    "tail/macro_f1",
    "average_precision",
)
"""Columns of the terminal's table, and those the page shows at first."""
FOLD_COLUMNS = ("micro_f1", "macro_f1", "tail/macro_f1")
"""Columns of the terminal's table over folds."""
HEADLINE_METRICS = ("macro_f1", "micro_f1", "tail/macro_f1", "average_precision")
"""The metrics whose best loss the page names first."""
OWN_METRICS = tuple(
    f"{average}_{name}" for average in ("micro", "macro") for name in ("f1", "precision", "recall")
)
"""What papers report at a threshold of 0.5."""

RULES = {
    "own": Term("0.5", "A label is predicted if its probability is above 0.5."),
    "tuned": Term(
        "tuned threshold",
        "A label is predicted if its score is above one threshold for all labels, that of best "
        "micro-F1 on validation.",
    ),
    "per_label": Term(
        "threshold per label",
        "Each label has its threshold of best validation F1, shrunk towards the tuned one, the more "
        "the fewer validation positives the label has.",
    ),
    "top_k": Term(
        "top k",
        "The k labels of highest score are predicted for every document; k of best micro-F1 on "
        "validation.",
    ),
    "scutfbr": Term(
        "SCutFBR",
        "Each label has its threshold of best validation F1; one whose best F1 is below a limit, which "
        "cross-validation chooses, has its highest validation score, and so is hardly predicted.",
    ),
    "logit_adjusted": Term(
        "logit adjustment",
        "A label is predicted if logit(p) - tau logit(its share of training documents) is above a "
        "threshold: that of best micro-F1 on validation; tau, from 0 to 2, that of best macro-F1.",
    ),
    "argmax": Term("argmax", "The label of highest score is predicted (single-label task)."),
}
"""Decision rules: how scores become labels."""

FACTS = {
    "macro_f1_absent_as_one": Term(
        "macro-F1, absent as 1",
        "Macro-F1 by the other convention: a label with neither positives nor predictions counts "
        "as 1.",
    ),
    "undefined_rows": Term(
        "undefined documents",
        "Test documents with neither labels nor predictions, mean over seeds. Their F1 is 0/0; "
        "example F1 counts them as 1.",
    ),
    "undefined_labels": Term(
        "undefined labels",
        "Labels with neither test positives nor predictions, mean over seeds. Their F1 is 0/0; "
        "macro-F1 counts them as 0.",
    ),
    "best_epoch": Term(
        "best epoch",
        "The epoch of the weights kept, the best on validation among those that beat the best trivial "
        "prediction.",
    ),
    "minutes": Term("minutes", "Training time per seed, until early stopping or the last epoch."),
    "seeds": Term(
        "seeds",
        "Number of trainings. Seeds differ in weight initialisation and batch order, not in the "
        "split.",
    ),
    "command": Term("command", "The command that trains and evaluates this loss alone."),
}
"""Columns that losses are not ranked by."""

TERMS = {
    **{f"rule/{key}": rule for key, rule in RULES.items()},
    **FACTS,
    "mark": Term(
        "stopped before it had learned",
        "On validation the loss never beat the best trivial prediction (every label, no label, or the "
        "k most frequent ones), or training and validation loss were both still falling steadily at "
        "the end. Its metrics say little about it: it is not tested against the reference.",
    ),
    "instances": Term("documents", "Documents of the split."),
    "average_words": Term("words", "Mean number of words per document."),
    "categories": Term("labels", "Labels with at least one document in the split."),
    "cardinality": Term("labels per document", "Mean number of labels per document."),
    "median_cardinality": Term("median", "Median number of labels per document."),
    "instances_per_label": Term(
        "documents per label", "Mean number of documents of the split per label that it has."
    ),
    "median_instances_per_label": Term("median", "Median number of documents per label."),
    "density": Term("density", "Labels per document, divided by the number of labels."),
    "imbalance": Term(
        "imbalance ratio", "Training documents of the most frequent label over those of the rarest."
    ),
    "difference": Term(
        "difference to the reference", "Value minus the reference's, on the same test documents."
    ),
    "interval": Term(
        "interval",
        "Bootstrap confidence interval: test documents are resampled with replacement. It covers the "
        "choice of test documents, not that of training documents or seeds. Without resamples: mean "
        "± standard deviation over seeds.",
    ),
    "p": Term(
        "p",
        "Two-sided p-value of a paired bootstrap over test documents for the difference to the "
        "reference, Holm-corrected over losses. Significant below 0.05.",
    ),
    "confusion": Term(
        "confused labels",
        "Number of test documents in which the first label is a false negative and the second a "
        "false positive, mean over seeds.",
    ),
    "pooled_confusion": Term(
        "confused labels of all losses",
        "Test documents in which the first label is a false negative and the second a false positive: "
        "the sum over losses of the mean over seeds. Incomparable losses, and those that stopped "
        "before they had learned, are left out.",
    ),
    "band_macro_f1": Term(
        "macro-F1 of a subset",
        "Macro-F1 over all labels, on these documents only. Labels without positives there count as "
        "0: compare losses within a row, not rows.",
    ),
    "decile": Term(
        "decile",
        "Labels sorted by training frequency, the most frequent tenth first. Labels without test "
        "positives count as 0.",
    ),
}
"""Everything else the page defines."""


def lower_is_better(key: str) -> bool:
    """Whether smaller values of a column are better."""
    return key in LOWER_IS_BETTER
