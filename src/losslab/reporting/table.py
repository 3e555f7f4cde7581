"""The comparison table: a row per loss, mean and spread over seeds."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from losslab.reporting.definitions import COLUMNS

SHORT = [
    "micro_f1",
    "macro_f1",
    "head/macro_f1",
    "medium/macro_f1",
    "tail/macro_f1",
    "average_precision",
]
"""Those that fit a terminal."""
ASIDE = (
    "macro_f1_absent_as_one",
    "undefined_rows",
    "undefined_labels",
    "rows_without_labels",
    "labels_without_positives",
)
"""What the conventions for undefined cases concern; no loss is ranked by it."""


def compare(metrics: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """One row per loss: ``loss``, ``seeds``, then ``best_epoch`` and metrics with their ``_std``.

    Rows are sorted by macro-F1, best first. The spread is the sample standard deviation over seeds,
    missing where there is one seed.
    """
    rows = []
    for name, result in metrics.items():
        row: dict[str, Any] = {"loss": name, "seeds": len(result["seeds"])}
        for key in ("best_epoch", *COLUMNS, *ASIDE):
            row[key] = result["mean"][key]
            row[f"{key}_std"] = result["std"][key]
        rows.append(row)
    return pd.DataFrame(rows).sort_values("macro_f1", ascending=False, ignore_index=True)


def unlike(comparison: pd.DataFrame) -> dict[str, str]:
    """By loss: what it differs in from the reference, besides the loss; others are left out.

    >>> unlike(pd.DataFrame({"loss": ["bce", "db"], "differs": [None, "seeds is 1, expected 3"]}))
    {'db': 'seeds is 1, expected 3'}
    """
    if "differs" not in comparison:
        return {}
    told = comparison.set_index("loss")["differs"].fillna("")
    return {str(loss): reason for loss, reason in told.items() if reason}


def show(value: float, spread: float | None, digits: int = 3) -> str:
    """A figure as people read it.

    >>> show(0.5, 0.0123)
    '0.500 ± 0.012'
    >>> show(0.5, None)
    '0.500'
    """
    text = f"{value:.{digits}f}"
    return text if spread is None or pd.isna(spread) else f"{text} ± {spread:.{digits}f}"


def to_markdown(table: pd.DataFrame) -> str:
    """The comparison as a Markdown table for a terminal."""
    header = ["loss", *(COLUMNS[key] for key in SHORT), "best epoch"]
    body = [
        [
            row["loss"],
            *(show(row[key], row[f"{key}_std"]) for key in SHORT),
            show(row["best_epoch"], row["best_epoch_std"], digits=0),
        ]
        for _, row in table.iterrows()
    ]
    widths = [max(map(len, column)) for column in zip(header, *body, strict=True)]
    rule = ["-" * width for width in widths]
    return "\n".join(
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in [header, rule, *body]
    )
