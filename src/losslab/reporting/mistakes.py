"""What the page shows of a loss's errors, and of cases in which a metric is undefined."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from losslab.reporting.table import unlike

MOST_PAIRS = 12
"""Confused pairs of labels that are shown."""


def list_mistakes(errors: Mapping[str, Any]) -> dict[str, Any]:
    """Of ``analyse_errors`` what the page's script reads.

    ``bands`` are documents with one label, with more, then by number of labels.
    """
    documents = errors["by_documents"]
    bands = [
        {"labels": "one", **documents["single"]},
        {"labels": "more than one", **documents["several"]},
        *(band for band in errors["by_number_of_labels"] if band["labels"] != "1"),
    ]
    return {
        "pairs": errors["pairs"][:MOST_PAIRS],
        "within": errors.get("pairs_within_groups", [])[:MOST_PAIRS],
        "confusions": errors["confusions"],
        "confusionsWithin": errors.get("confusions_within_groups", 0.0),
        "bands": [band for band in bands if band["documents"]],
        "deciles": errors["by_frequency_decile"],
    }


def tell_undefined(comparison: pd.DataFrame) -> str:
    """How many test documents and labels the conventions for undefined cases concern."""
    like = comparison[~comparison["loss"].isin(unlike(comparison))]
    rows, labels = (
        int(like[key].iloc[0]) for key in ("rows_without_labels", "labels_without_positives")
    )
    if not rows and not labels:
        return (
            "Every test document has a label and every label a test document: no F1 is undefined."
        )
    return (
        f"{_count(rows, 'test document')} without a label, {_count(labels, 'label')} without a test "
        f"document. Depending on the loss, {_span(like['undefined_rows'])} of these documents and "
        f"{_span(like['undefined_labels'])} of these labels have no prediction either, so that their "
        "F1 is undefined: example F1 counts such a document as 1, macro-F1 such a label as 0."
    )


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _span(numbers: pd.Series) -> str:
    low, high = numbers.min(), numbers.max()
    return f"{low:,.4g}" if low == high else f"{low:,.4g} to {high:,.4g}"
