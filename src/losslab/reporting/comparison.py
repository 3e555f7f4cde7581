"""The comparison of losses: the table of means and the standings with ranks and differences."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from losslab.evaluation import own_results
from losslab.reporting.definitions import (
    COLUMNS,
    OWN_METRICS,
    SHOWN_COLUMNS,
    lower_is_better,
)

CONVENTIONS = (
    "macro_f1_absent_as_one",
    "undefined_rows",
    "undefined_labels",
    "rows_without_labels",
    "labels_without_positives",
)
"""What the conventions for undefined cases concern; no loss is ranked by it."""


def comparison_table(metrics: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """One row per loss: ``loss rule mark seeds``, then ``best_epoch`` and metrics with their ``_std``.

    ``rule`` is the decision rule that the metrics are of, ``mark`` that of a loss that stopped before
    it had learned, or "". Rows are sorted by macro-F1, best first. ``own/<metric>`` are metrics at
    the natural threshold; they are missing for losses that have none. ``learning_rate`` is there
    where a loss has one of its own.
    ``_std`` is the sample standard deviation over seeds, missing where there is one seed.
    """
    rows = []
    for name, result in metrics.items():
        row: dict[str, Any] = {"loss": name, "rule": result.get("rule")}
        row["mark"] = result.get("training", {}).get("mark") or ""
        row["seeds"] = len(result["seeds"])
        row |= _own_learning_rate(result)
        for key in ("best_epoch", *COLUMNS, *CONVENTIONS):
            row[key] = result["mean"].get(key, np.nan)  # baselines have no epochs
            row[f"{key}_std"] = result["std"].get(key)
        rows.append({**row, **_own_columns(own_results(result))})
    return pd.DataFrame(rows).sort_values("macro_f1", ascending=False, ignore_index=True)


def _own_learning_rate(result: Mapping[str, Any]) -> dict[str, float]:
    """The learning rate of a loss that does not have the recipe's."""
    rate = result.get("options", {}).get("learning_rate")
    return {} if rate is None else {"learning_rate": rate}


def _own_columns(own: Mapping[str, Any] | None) -> dict[str, Any]:
    """Metrics at the natural threshold, for losses that have one."""
    if own is None:
        return {}
    suffixes = {"mean": "", "std": "_std"}
    return {
        f"own/{key}{end}": own[kind][key] for key in OWN_METRICS for kind, end in suffixes.items()
    }


def incomparable_losses(comparison: pd.DataFrame) -> dict[str, str]:
    """By loss: the conditions in which it differs from the reference; comparable losses are absent.

    >>> table = pd.DataFrame({"loss": ["bce", "db"], "differs": [None, "seeds is 1, expected 3"]})
    >>> incomparable_losses(table)
    {'db': 'seeds is 1, expected 3'}
    """
    return _remarks(comparison, "differs")


def marked_losses(comparison: pd.DataFrame) -> dict[str, str]:
    """By loss: why it stopped before it had learned; others are absent."""
    return _remarks(comparison, "mark")


def _remarks(comparison: pd.DataFrame, column: str) -> dict[str, str]:
    if column not in comparison:
        return {}
    remarks = comparison.set_index("loss")[column].fillna("")
    return {str(loss): remark for loss, remark in remarks.items() if remark}


def untested_losses(comparison: pd.DataFrame, reference: str) -> list[str]:
    """Losses without a test against the reference: incomparable ones, and those that are marked.

    A loss that stopped before it had learned is not called worse. Where the reference did, no loss
    is tested.
    """
    marked = marked_losses(comparison)
    if reference in marked:
        return [str(loss) for loss in comparison["loss"]]
    return [*incomparable_losses(comparison), *marked]


def format_mean_std(value: float, std: float | None, digits: int = 3) -> str:
    """Mean and standard deviation.

    >>> format_mean_std(0.5, 0.0123)
    '0.500 ± 0.012'
    >>> format_mean_std(0.5, None)
    '0.500'
    """
    text = "-" if pd.isna(value) else f"{value:.{digits}f}"
    return text if std is None or pd.isna(std) else f"{text} ± {std:.{digits}f}"


def to_markdown(table: pd.DataFrame) -> str:
    """The comparison as a Markdown table for a terminal; an asterisk explains each mark below it."""
    marks = marked_losses(table)
    header = ["loss", *(COLUMNS[key] for key in SHOWN_COLUMNS), "best epoch"]
    body = [
        [
            f"{row['loss']} *" if row["loss"] in marks else row["loss"],
            *(format_mean_std(row[key], row[f"{key}_std"]) for key in SHOWN_COLUMNS),
            format_mean_std(row["best_epoch"], row["best_epoch_std"], digits=0),
        ]
        for _, row in table.iterrows()
    ]
    explained = [f"* {loss} {mark}" for loss, mark in marks.items()]
    return "\n".join([markdown_table(header, body), *explained])


def markdown_table(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A Markdown table with columns of even width.

    >>> print(markdown_table(["loss", "F1"], [["bce", "0.5"]]))
    | loss | F1  |
    | ---- | --- |
    | bce  | 0.5 |
    """
    widths = [max(map(len, column)) for column in zip(header, *body, strict=True)]
    rule = ["-" * width for width in widths]
    lines = [
        "| "
        + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        + " |"
        for line in [header, rule, *body]
    ]
    return "\n".join(lines)


def build_standings(
    comparison: pd.DataFrame,
    *,
    reference: str = "bce",
    uncertainty: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """A row per loss and metric: ``value low high rank difference p``, in the comparison's order.

    ``difference`` is to ``reference`` and missing where that did not run. Incomparable losses have
    neither rank nor difference, ``untested_losses`` no p. Interval, difference and corrected p are
    those of ``uncertainty["losses"]`` (``low high difference p_holm`` by loss and metric) where it
    has them; else the interval is mean ± sample standard deviation over seeds, missing for one seed.
    """
    parts = [_metric_standings(comparison, metric, reference) for metric in COLUMNS]
    table = pd.concat(parts, ignore_index=True)
    if uncertainty is None:
        return table
    tested = _with_uncertainty(table, uncertainty["losses"])
    untested = untested_losses(comparison, reference)
    return tested.assign(p=tested["p"].mask(tested["loss"].isin(untested)))


def _with_uncertainty(table: pd.DataFrame, losses: Mapping[str, Any]) -> pd.DataFrame:
    names = {"low": "low", "high": "high", "difference": "difference", "p": "p_holm"}
    entries = [
        losses.get(loss, {}).get(metric)
        for loss, metric in zip(table["loss"], table["metric"], strict=True)
    ]
    replaced = table.copy()
    for column, key in names.items():
        replaced[column] = [
            old if entry is None or entry[key] is None else entry[key]
            for old, entry in zip(table[column], entries, strict=True)
        ]
    return replaced.astype(dict.fromkeys(names, float))


def _metric_standings(comparison: pd.DataFrame, metric: str, reference: str) -> pd.DataFrame:
    value = comparison[metric].astype(float)
    std = comparison[f"{metric}_std"].astype(float)
    base = value[comparison["loss"] == reference]
    comparable = ~comparison["loss"].isin(incomparable_losses(comparison))
    return pd.DataFrame(
        {
            "loss": comparison["loss"],
            "metric": metric,
            "value": value,
            "low": value - std,
            "high": value + std,
            "rank": rank(value.where(comparable), metric),
            "difference": value.where(comparable) - base.iloc[0] if len(base) else np.nan,
            "p": np.nan,
        }
    )


def rank(values: pd.Series, metric: str) -> pd.Series:
    """Ranks from 1, the best; equal values share the smaller rank, missing ones have none."""
    ranks = values.round(10).rank(method="min", ascending=lower_is_better(metric))
    return ranks.astype("Int64")
