"""The best loss by each headline metric: value, interval, and significance of its lead."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from losslab.errors import LosslabError
from losslab.reporting.definitions import HEADLINE_METRICS, METRICS

SIGNIFICANCE_LEVEL = 0.05


def find_best_losses(standings: pd.DataFrame, reference: str | None) -> list[dict[str, Any]]:
    """Per headline metric: the best loss, its value and interval, significance, a strip plot.

    Incomparable losses, which have no rank, are left out.
    """
    ranked = standings[standings["rank"].notna()]
    return [_best_by(ranked, metric, reference) for metric in HEADLINE_METRICS]


def best_loss(standings: pd.DataFrame, metric: str) -> str:
    """The best loss or baseline of a metric; the first of several."""
    ranked = standings[standings["rank"].notna() & (standings["metric"] == metric)]
    if ranked.empty:
        raise LosslabError(f"no loss of the report is ranked by {metric}: run more of them")
    return str(ranked.loc[ranked["rank"].idxmin(), "loss"])


def _best_by(standings: pd.DataFrame, metric: str, reference: str | None) -> dict[str, Any]:
    rows = standings[standings["metric"] == metric].set_index("loss")
    compared_with = reference if reference in rows.index else None
    winners = rows.index[rows["rank"] == rows["rank"].min()].tolist()
    best = _row_of(rows, str(compared_with if compared_with in winners else winners[0]))
    return {
        "metric": metric,
        "name": METRICS[metric].name,
        **best,
        "winners": winners,
        "reference": compared_with,
        "reference_value": float(rows.loc[compared_with, "value"]) if compared_with else None,
        "significance": describe_significance(best, compared_with),
        "strip": _strip_plot(rows, best, compared_with),
    }


def _row_of(rows: pd.DataFrame, loss: str) -> dict[str, Any]:
    """The row of a loss; None for what is missing. Of joint winners the reference stands for all."""
    row = {"loss": loss, **rows.loc[loss].to_dict()}
    return {key: None if pd.isna(value) else value for key, value in row.items()}


def _strip_plot(
    rows: pd.DataFrame, best: Mapping[str, Any], reference: str | None
) -> dict[str, Any]:
    """Every loss's position on a line, in percent of its length."""
    ends = rows[["value", "low", "high"]] if best["low"] is not None else rows[["value"]]
    lowest, highest = float(rows["value"].min()), float(ends.loc[best["loss"]].max())
    highest = max(highest, float(rows["value"].max()))
    width = (highest - lowest) or 1.0

    def position(value: float) -> float:
        return round(3 + 94 * min(max((value - lowest) / width, 0), 1), 2)

    others = rows.drop(index=[best["loss"], *([reference] if reference else [])], errors="ignore")
    interval = None if best["low"] is None else (position(best["low"]), position(best["high"]))
    return {
        "others": [position(value) for value in others["value"]],
        "best": position(best["value"]),
        "reference": position(rows.loc[reference, "value"]) if reference else None,
        "interval": interval,
        "lowest": lowest,
        "highest": highest,
    }


def format_p(p: float) -> str:
    """A p-value to two decimals, to three below 0.1.

    >>> format_p(1.0), format_p(0.0123), format_p(0.0001)
    ('p = 1.00', 'p = 0.012', 'p < 0.001')
    """
    if p < 0.001:
        return "p < 0.001"
    return f"p = {p:.2f}" if p >= 0.1 else f"p = {p:.3f}"


def describe_significance(best: Mapping[str, Any], reference: str | None) -> str:
    """Whether the best loss differs significantly from the reference."""
    if best["difference"] is None or reference is None:
        return ""
    if best["loss"] == reference:
        return "no loss is better"
    if best["p"] is not None:
        verdict = "significant" if best["p"] < SIGNIFICANCE_LEVEL else "not significant"
        return f"{verdict} ({format_p(best['p'])}, Holm)"
    return "one seed, not tested" if best["low"] is None else "not tested"
