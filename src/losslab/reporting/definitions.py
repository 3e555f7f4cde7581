"""The metrics of a report: what people call them, what they mean, which way is better."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Metric:
    """A metric as the page explains it."""

    name: str
    meaning: str
    lower_is_better: bool = False


_F1 = "F1 is 2 tp / (2 tp + fp + fn): hits against false alarms and misses."
_GROUPS = {
    "head": "the most frequent labels",
    "medium": "the labels of medium frequency",
    "tail": "the rarest labels",
}

METRICS = {
    "micro_f1": Metric(
        "micro-F1",
        f"{_F1} Counts are added up over all labels first, so that frequent labels decide.",
    ),
    "macro_f1": Metric(
        "macro-F1",
        f"{_F1} The mean of each label's own F1, so that rare labels count as much as frequent "
        "ones. A label with neither positives nor predictions counts as 0.",
    ),
    **{
        f"{group}/macro_f1": Metric(
            f"{group} macro-F1",
            f"Macro-F1 over {labels}, by how many training documents carry them.",
        )
        for group, labels in _GROUPS.items()
    },
    "average_precision": Metric(
        "average precision",
        "How many of the labels ranked at or above a true one are true, averaged over a document's "
        "true labels, then over documents. It looks at the ranking only, at no threshold. A document "
        "without labels counts as 0.",
    ),
    "ranking_loss": Metric(
        "ranking loss",
        "The share of pairs of a true and a false label of a document that are ranked the wrong "
        "way round. A document with no label, or with all, counts as 0. Lower is better.",
        lower_is_better=True,
    ),
    "weighted_f1": Metric(
        "weighted F1", f"{_F1} The mean over labels, weighted by how many documents carry each."
    ),
    "example_f1": Metric(
        "example F1",
        f"{_F1} Computed for each document over its labels, then averaged over documents. A document "
        "with neither labels nor predictions counts as 1.",
    ),
    "subset_accuracy": Metric(
        "subset accuracy", "The share of documents whose whole set of labels is exactly right."
    ),
    **{
        f"{group}/micro_f1": Metric(
            f"{group} micro-F1",
            f"Micro-F1 over {labels}, by how many training documents carry them.",
        )
        for group, labels in _GROUPS.items()
    },
}

RULES = {
    "own": Metric("0.5", "A label is predicted where its probability is above 0.5."),
    "tuned": Metric(
        "one tuned threshold",
        "A label is predicted where its score is above one threshold, the same for all labels, that "
        "of best micro-F1 on validation. All other tables and figures compare losses by this rule.",
    ),
    "per_label": Metric(
        "a threshold per label",
        "Each label has the threshold of its best F1 on validation, drawn towards the tuned one, the "
        "more the fewer validation documents carry the label.",
    ),
    "top_k": Metric(
        "the k likeliest",
        "The k labels of highest score are predicted for every document; k by micro-F1 on validation.",
    ),
    "likeliest": Metric(
        "the likeliest",
        "The one label of highest score is predicted: every document has one label.",
    ),
}
"""Decision rules: how scores become labels."""

TERMS = {
    **{f"rule/{key}": rule for key, rule in RULES.items()},
    "seeds": Metric(
        "seeds",
        "How often the loss was trained. Seeds differ in initial weights and the order of batches, "
        "not in the split.",
    ),
    "best_epoch": Metric(
        "best epoch", "The epoch whose weights are kept: that of best macro-F1 on validation."
    ),
    "minutes": Metric(
        "minutes", "Time of one training until it ended, the mean of the seeds.", True
    ),
    "calibration_error": Metric(
        "calibration error",
        "Expected calibration error: scores are sorted into ten bins; the mean distance between a "
        "bin's scores and the share of its labels that are true, weighted by the size of the bins. "
        "Only for losses whose scores are probabilities. Lower is better.",
        lower_is_better=True,
    ),
    "instances": Metric("instances", "Documents of a split."),
    "average_words": Metric("average words", "Mean number of words of a document."),
    "categories": Metric("categories", "Labels that some document of the split carries."),
    "cardinality": Metric("labels per document", "Mean number of labels of a document."),
    "density": Metric("density", "Labels per document, divided by the number of categories."),
    "imbalance": Metric(
        "most to least frequent",
        "How many times more training documents the most frequent label has than the rarest one.",
    ),
    "difference": Metric(
        "difference to the reference",
        "A loss's value less that of the reference, on the same test documents.",
    ),
    "interval": Metric(
        "interval",
        "The range a value has over many resamples of the test documents, which are drawn with "
        "replacement: what other test documents would change, not what other training documents or "
        "seeds would. Where no resamples are known: mean ± standard deviation over seeds.",
    ),
    "p": Metric(
        "p",
        "Twice the share of resamples of the test documents in which the difference to the reference "
        "falls on the other side of 0, corrected for the number of losses (Holm). Below 0.05 the "
        "difference is called more than chance explains, and marked by an arrow.",
    ),
    "macro_f1_absent_as_one": Metric(
        "macro-F1, absent as 1",
        "Macro-F1 in the other reading: a label with neither positives nor predictions counts as 1.",
    ),
    "undefined_rows": Metric(
        "undefined documents",
        "Test documents with neither labels nor predictions, the mean over seeds. Their F1 is 0 / 0; "
        "example F1 counts them as 1.",
    ),
    "undefined_labels": Metric(
        "undefined labels",
        "Labels with neither test documents nor predictions, the mean over seeds. Their F1 is 0 / 0; "
        "macro-F1 counts them as 0.",
    ),
    "confusion": Metric(
        "confused labels",
        "In how many test documents the first label was missed and the second wrongly predicted, the "
        "mean over seeds.",
    ),
    "band_macro_f1": Metric(
        "macro-F1 of some documents",
        "The mean F1 over all labels, on these documents only. Labels that none of them carries "
        "count as 0, so that rows of few documents are low: compare losses within a row, not rows.",
    ),
    "decile": Metric(
        "tenth of the labels",
        "Labels in the order of their training documents, the most frequent tenth first. Macro-F1 is "
        "the mean over the labels of the tenth; those without test documents count as 0.",
    ),
}
"""What else a page shows."""

COLUMNS = {key: metric.name for key, metric in METRICS.items()}
"""The metrics of the table and how a person calls them."""
