"""The tables of the page: losses by metric, decision rules, errors, undefined cases."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from losslab.baselines import METHODS
from losslab.evaluation.error_analysis import POOLED_COLUMNS
from losslab.parameters import namespace
from losslab.reporting.best_losses import SIGNIFICANCE_LEVEL, format_p
from losslab.reporting.comparison import format_mean_std, incomparable_losses, marked_losses
from losslab.reporting.definitions import COLUMNS, FACTS, OWN_METRICS, RULES, lower_is_better

DIGITS = {"best_epoch": 0, "seeds": 0, "minutes": 2, "undefined_rows": 1, "undefined_labels": 1}
MAX_PAIRS = 12
"""Confused pairs of labels that are shown."""


def loss_rows(
    comparison: pd.DataFrame,
    standings: pd.DataFrame,
    facts: pd.DataFrame,
    command: str,
    twins: Mapping[str, str] | None = None,
) -> list[dict[str, Any]]:
    """A row per loss of the comparison: names, family, and a cell per column.

    ``command`` chooses dataset and recipe; each loss adds its pipeline. ``twins``: by loss, which
    other it is identical to, and why.
    """
    by_metric = {key: rows.set_index("loss") for key, rows in standings.groupby("metric")}
    several, reasons = len(comparison) > 1, incomparable_losses(comparison)
    marks = marked_losses(comparison)
    rows = []
    for record in comparison.merge(facts, on="loss", how="left").to_dict("records"):
        loss = record["loss"]
        cells = {
            key: _metric_cell(by_metric[key].loc[loss], record, key, several) for key in COLUMNS
        }
        cells |= {key: _fact_cell(record, key) for key in FACTS}
        cells["command"]["text"] = f"{command} --pipelines={namespace(loss)}"
        rows.append(
            {
                "loss": loss,
                **_describe(loss),
                "differs": reasons.get(loss, ""),
                "mark": marks.get(loss, ""),
                "twin": (twins or {}).get(loss, ""),
                "selection": _selection(record),
                "cells": cells,
            }
        )
    return rows


def _selection(record: Mapping[str, Any]) -> str:
    """How a training was selected, and a learning rate that is not the recipe's."""
    rate, selection = record.get("learning_rate"), str(record.get("selection", ""))
    own = "" if rate is None or pd.isna(rate) else f"; learning rate {rate:.4g} of its own"
    return f"{selection}{own}"


def loss_facts(training: pd.DataFrame) -> pd.DataFrame:
    """Training minutes and selection by loss, of the histories that ``gather_histories`` joins."""
    by_loss = training.groupby("loss", sort=False)
    facts = pd.DataFrame(
        {"minutes": by_loss["minutes"].max(), "selection": by_loss["selection"].first()}
    )
    return facts.rename_axis("loss").reset_index()


def _describe(loss: str) -> dict[str, str]:
    spec = METHODS.get(loss)
    if spec is None:
        return {"title": loss, "family": "", "choose_when": ""}
    return {"title": spec.title, "family": spec.family, "choose_when": spec.choose_when}


def _metric_cell(
    standing: pd.Series, record: dict[str, Any], key: str, several: bool
) -> dict[str, Any]:
    std = record[f"{key}_std"]
    return {
        "value": "" if pd.isna(standing["value"]) else round(float(standing["value"]), 6),
        "text": format_mean_std(standing["value"], None),
        "std": "" if std is None or pd.isna(std) else f"± {std:.3f}",
        "best": several and pd.notna(standing["rank"]) and bool(standing["rank"] == 1),
        "mark": _significance_mark(standing) if several else "",
        "better": (standing["difference"] < 0) == lower_is_better(key),
        "details": _details(standing),
    }


def _significance_mark(standing: pd.Series) -> str:
    """An arrow where the difference to the reference is significant."""
    if pd.isna(standing["p"]) or standing["p"] >= SIGNIFICANCE_LEVEL:
        return ""
    return "▲" if standing["difference"] > 0 else "▼"


def _details(standing: pd.Series) -> list[str]:
    """Interval, difference to the reference and its p, where known."""
    details = []
    if pd.notna(standing["low"]):
        details.append(f"{standing['low']:.3f} to {standing['high']:.3f}")
    if pd.notna(standing["difference"]):
        details.append(f"{standing['difference']:+.3f}")
    if pd.notna(standing["p"]):
        details.append(format_p(standing["p"]))
    return details


def _fact_cell(record: dict[str, Any], key: str) -> dict[str, Any]:
    value = float(record.get(key, np.nan))
    known = not np.isnan(value)
    return {
        "value": round(value, 6) if known else "",
        "text": f"{value:.{DIGITS.get(key, 3)}f}" if known else "-",
        "std": "",
        "best": False,
        "mark": "",
        "details": [],
    }


def tabulate_rules(metrics: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """A row per loss, rule and metric: ``validation`` and ``test``, of the losses' results."""
    rows = [
        {"loss": loss, "rule": rule, "metric": metric, "validation": value}
        | {"test": splits["test"][metric]}
        for loss, result in metrics.items()
        for rule, splits in result.get("rules", {}).items()
        for metric, value in splits["validation"].items()
    ]
    return pd.DataFrame(rows, columns=["loss", "rule", "metric", "validation", "test"])


def rule_rows(rules: pd.DataFrame, losses: list[str]) -> dict[str, Any]:
    """Test macro-F1 by rule: the rules, and a row of cells per loss."""
    macro = rules[rules["metric"] == "macro_f1"].set_index(["loss", "rule"])
    names = [rule for rule in RULES if rule in set(rules["rule"])]
    rows = []
    for loss in losses:
        by_rule = [
            macro.loc[(loss, rule)] if (loss, rule) in macro.index else None for rule in names
        ]
        best = max((cell["test"] for cell in by_rule if cell is not None), default=None)
        cells = [None if cell is None else _rule_cell(cell, best) for cell in by_rule]
        rows.append({"loss": loss, "cells": cells})
    return {"rules": names, "rows": rows if names else []}


def _rule_cell(cell: pd.Series, best: float | None) -> dict[str, Any]:
    change = cell["test"] - cell["validation"]
    return {"text": f"{cell['test']:.3f}", "change": f"{change:+.3f}", "best": cell["test"] == best}


def own_rows(rules: pd.DataFrame, losses: list[str]) -> dict[str, Any]:
    """Test metrics at the natural threshold: their keys, and a row per loss that has one."""
    own = rules[rules["rule"] == "own"].pivot_table(index="loss", columns="metric", values="test")
    keys = [key for key in OWN_METRICS if key in own]
    rows = [
        {"loss": loss, "cells": [f"{own.loc[loss, key]:.3f}" for key in keys]}
        for loss in losses
        if loss in own.index
    ]
    return {"metrics": keys, "rows": rows}


def error_tables(errors: Mapping[str, Any]) -> dict[str, Any]:
    """The part of an error analysis that the page's script reads.

    ``bands`` are those of ``cardinality_limits``, then the numbers of labels that are no band there.
    """
    told = {band["labels"] for band in errors["by_cardinality"]}
    numbers = errors["by_number_of_labels"]
    bands = [
        *errors["by_cardinality"],
        *(band for band in numbers if f"{band['labels']} label" not in told),
    ]
    return {
        "pairs": errors["pairs"][:MAX_PAIRS],
        "within": errors.get("pairs_within_groups", [])[:MAX_PAIRS],
        "confusions": errors["confusions"],
        "confusionsWithin": errors.get("confusions_within_groups", 0.0),
        "bands": [band for band in bands if band["documents"]],
        "deciles": errors["by_frequency_decile"],
    }


def confusion_rows(pooled: pd.DataFrame | None) -> dict[str, Any]:
    """The pairs of labels that all losses together confuse most, and how many losses there are."""
    table = pd.DataFrame(columns=list(POOLED_COLUMNS)) if pooled is None else pooled
    return {
        "losses": len(table.columns) - len(POOLED_COLUMNS),
        "rows": table.head(MAX_PAIRS).to_dict("records"),
    }


def primary_rules(comparison: pd.DataFrame) -> list[str]:
    """The decision rules that the comparison's metrics are of, the most frequent first."""
    rules: list[str] = comparison["rule"].dropna().value_counts().index.tolist()
    return rules


def describe_decision(comparison: pd.DataFrame) -> str:
    """The primary decision rule, and the losses that fall back to another."""
    primary, *fallbacks = primary_rules(comparison) or ["tuned"]
    exceptions = [
        f"{', '.join(comparison.loc[comparison['rule'] == rule, 'loss'])}: {RULES[rule].name}"
        for rule in fallbacks
    ]
    return RULES[primary].name + (f" ({'; '.join(exceptions)})" if exceptions else "")


def describe_undefined(comparison: pd.DataFrame) -> str:
    """How many test documents and labels the conventions for undefined cases concern."""
    comparable = comparison[~comparison["loss"].isin(incomparable_losses(comparison))]
    rows, labels = (
        int(comparable[key].iloc[0]) for key in ("rows_without_labels", "labels_without_positives")
    )
    if not rows and not labels:
        return "none; every test document has a label, every label a test document."
    return (
        f"{_count(rows, 'test document')} without a label, {_count(labels, 'label')} without a test "
        f"document. {_range(comparable['undefined_rows'])} of these documents and "
        f"{_range(comparable['undefined_labels'])} of these labels, depending on the loss, have no "
        "prediction either, and F1 is 0/0: example F1 counts it as 1, macro-F1 as 0."
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _range(numbers: pd.Series) -> str:
    low, high = numbers.min(), numbers.max()
    return f"{low:,.4g}" if low == high else f"{low:,.4g} to {high:,.4g}"
