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
        "true labels, then over documents. It looks at the ranking only, at no threshold.",
    ),
    "ranking_loss": Metric(
        "ranking loss",
        "The share of pairs of a true and a false label of a document that are ranked the wrong "
        "way round. Lower is better.",
        lower_is_better=True,
    ),
    "weighted_f1": Metric(
        "weighted F1", f"{_F1} The mean over labels, weighted by how many documents carry each."
    ),
    "example_f1": Metric(
        "example F1",
        f"{_F1} Computed for each document over its labels, then averaged over documents.",
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

TERMS = {
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
}
"""What else a page shows."""

COLUMNS = {key: metric.name for key, metric in METRICS.items()}
"""The metrics of the table and how a person calls them."""
