"""Where each loss stands: a tidy table of values, intervals, and differences to a reference."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from losslab.reporting.definitions import METRICS
from losslab.reporting.table import unlike

SURE = 0.05
"""Below this corrected p a difference is called one."""


def stand(
    comparison: pd.DataFrame,
    *,
    reference: str = "bce",
    uncertainty: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """A row per loss and metric: ``value low high rank difference p``, in the comparison's order.

    ``difference`` is to ``reference`` and missing where that did not run. A loss that the comparison
    marks as unlike has neither rank nor difference: it is compared with nothing. Interval,
    difference and corrected p are those of ``uncertainty["losses"]`` (``low high difference p_holm``
    by loss and metric) where it has them; else the interval is mean and sample standard deviation
    over seeds, which one seed does not have.
    """
    parts = [_stand_by(comparison, metric, reference) for metric in METRICS]
    table = pd.concat(parts, ignore_index=True)
    return table if uncertainty is None else _with_uncertainty(table, uncertainty["losses"])


def _with_uncertainty(table: pd.DataFrame, known: Mapping[str, Any]) -> pd.DataFrame:
    names = {"low": "low", "high": "high", "difference": "difference", "p": "p_holm"}
    entries = [
        known.get(loss, {}).get(metric)
        for loss, metric in zip(table["loss"], table["metric"], strict=True)
    ]
    replaced = table.copy()
    for column, key in names.items():
        replaced[column] = [
            old if entry is None or entry[key] is None else entry[key]
            for old, entry in zip(table[column], entries, strict=True)
        ]
    return replaced.astype(dict.fromkeys(names, float))


def _stand_by(comparison: pd.DataFrame, metric: str, reference: str) -> pd.DataFrame:
    value = comparison[metric].astype(float)
    spread = comparison[f"{metric}_std"].astype(float)
    base = value[comparison["loss"] == reference]
    like = ~comparison["loss"].isin(unlike(comparison))
    return pd.DataFrame(
        {
            "loss": comparison["loss"],
            "metric": metric,
            "value": value,
            "low": value - spread,
            "high": value + spread,
            "rank": rank(value.where(like), metric),
            "difference": value.where(like) - base.iloc[0] if len(base) else np.nan,
            "p": np.nan,
        }
    )


def rank(values: pd.Series, metric: str) -> pd.Series:
    """Places from 1 on, the better the smaller; equal values share the smaller place.

    What has no value has no place.
    """
    places = values.round(10).rank(method="min", ascending=METRICS[metric].lower_is_better)
    return places.astype("Int64")


def best_of(standings: pd.DataFrame, metric: str) -> dict[str, Any]:
    """The row of the best loss of a metric; the first of several."""
    own = standings[standings["metric"] == metric]
    row = own.loc[own["rank"].idxmin()]
    return {key: None if pd.isna(value) else value for key, value in row.to_dict().items()}


def tell_p(p: float) -> str:
    """A p as people read it.

    >>> tell_p(0.0123), tell_p(0.0001)
    ('p = 0.012', 'p < 0.001')
    """
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def verdict(best: Mapping[str, Any], reference: str | None) -> str:
    """How sure we are that the best loss differs from the reference, in a few words."""
    if best["difference"] is None or reference is None:
        return ""
    if best["loss"] == reference:
        return "no other loss does better"
    if best["p"] is not None:
        sure = "more than chance explains" if best["p"] < SURE else "chance may explain it"
        return f"{sure} ({tell_p(best['p'])})"
    if best["low"] is None:
        return "one seed, untested"
    return "untested"
