"""What each decision rule gives, and what it loses between validation and test."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from losslab.reporting.definitions import RULES


def tabulate_rules(metrics: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """A row per loss, rule and metric: ``validation``, ``test``; empty where nothing is known."""
    rows = [
        {"loss": loss, "rule": rule, "metric": metric, "validation": value}
        | {"test": splits["test"][metric]}
        for loss, result in metrics.items()
        for rule, splits in result.get("rules", {}).items()
        for metric, value in splits["validation"].items()
    ]
    return pd.DataFrame(rows, columns=["loss", "rule", "metric", "validation", "test"])


def list_decisions(rules: pd.DataFrame, losses: list[str]) -> dict[str, Any]:
    """Macro-F1 by rule for the page's table: the rules, and a row of cells per loss."""
    own = rules[rules["metric"] == "macro_f1"].set_index(["loss", "rule"])
    names = [rule for rule in RULES if rule in set(rules["rule"])]
    rows = []
    for loss in losses:
        found = [own.loc[(loss, rule)] if (loss, rule) in own.index else None for rule in names]
        best = max((cell["test"] for cell in found if cell is not None), default=None)
        cells = [None if cell is None else _cell(cell, best) for cell in found]
        rows.append({"loss": loss, "cells": cells})
    return {"rules": names, "rows": rows if names else []}


def _cell(cell: pd.Series, best: float | None) -> dict[str, Any]:
    drop = cell["test"] - cell["validation"]
    return {"text": f"{cell['test']:.3f}", "drop": f"{drop:+.3f}", "best": cell["test"] == best}
