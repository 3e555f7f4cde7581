"""The first screen: the best loss by each of a few metrics, how sure, against the reference."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from losslab.reporting.definitions import METRICS
from losslab.reporting.standings import best_of, verdict

ASKED = ("macro_f1", "micro_f1", "tail/macro_f1", "average_precision")


def find_answers(standings: pd.DataFrame, reference: str | None) -> list[dict[str, Any]]:
    """One answer per metric: the best loss, its value and interval, the verdict, a strip.

    Losses without a rank, which were judged under other conditions, do not take part.
    """
    ranked = standings[standings["rank"].notna()]
    return [_answer(ranked, metric, reference) for metric in ASKED]


def _answer(standings: pd.DataFrame, metric: str, reference: str | None) -> dict[str, Any]:
    own = standings[standings["metric"] == metric].set_index("loss")
    best = best_of(standings, metric)
    known = reference if reference in own.index else None
    return {
        "metric": metric,
        "name": METRICS[metric].name,
        "lower_is_better": METRICS[metric].lower_is_better,
        **best,
        "reference": known,
        "reference_value": float(own.loc[known, "value"]) if known else None,
        "verdict": verdict(best, known),
        "strip": _strip(own, best, known),
    }


def _strip(own: pd.DataFrame, best: Mapping[str, Any], reference: str | None) -> dict[str, Any]:
    """Every loss's place on a line, in percent of its length."""
    ends = own[["value", "low", "high"]] if best["low"] is not None else own[["value"]]
    lowest, highest = float(own["value"].min()), float(ends.loc[best["loss"]].max())
    highest = max(highest, float(own["value"].max()))
    width = (highest - lowest) or 1.0

    def place(value: float) -> float:
        return round(3 + 94 * min(max((value - lowest) / width, 0), 1), 2)

    others = own.drop(index=[best["loss"], *([reference] if reference else [])], errors="ignore")
    return {
        "others": [place(value) for value in others["value"]],
        "best": place(best["value"]),
        "reference": place(own.loc[reference, "value"]) if reference else None,
        "interval": None if best["low"] is None else (place(best["low"]), place(best["high"])),
        "lowest": lowest,
        "highest": highest,
    }
