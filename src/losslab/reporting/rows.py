"""The rows of the page's table: what each cell says, how it sorts, what is marked."""

from typing import Any

import pandas as pd

from losslab.losses import LOSSES
from losslab.reporting.definitions import COLUMNS, METRICS
from losslab.reporting.score_figures import calibration_error
from losslab.reporting.standings import SURE, tell_p
from losslab.reporting.table import show, unlike

FACTS = (
    "macro_f1_absent_as_one",
    "undefined_rows",
    "undefined_labels",
    "calibration_error",
    "best_epoch",
    "minutes",
    "seeds",
)
"""Columns of a loss that it is not ranked by."""
DIGITS = {"best_epoch": 0, "seeds": 0, "minutes": 2, "undefined_rows": 1, "undefined_labels": 1}


def list_rows(
    comparison: pd.DataFrame, standings: pd.DataFrame, facts: pd.DataFrame
) -> list[dict[str, Any]]:
    """A row per loss of the comparison: names, family, and a cell per column."""
    places = {key: own.set_index("loss") for key, own in standings.groupby("metric")}
    several, differs = len(comparison) > 1, unlike(comparison)
    rows = []
    for record in comparison.merge(facts, on="loss", how="left").to_dict("records"):
        cells = {
            key: _cell(places[key].loc[record["loss"]], record, key, several) for key in COLUMNS
        }
        cells |= {key: _fact(record, key) for key in FACTS}
        told = {**_tell(record["loss"]), "differs": differs.get(record["loss"], "")}
        rows.append({"loss": record["loss"], **told, "cells": cells})
    return rows


def loss_facts(training: pd.DataFrame, profiles: pd.DataFrame) -> pd.DataFrame:
    """Minutes of a training and the calibration error, by loss; what is not known is missing."""
    minutes = training.groupby("loss", sort=False)["minutes"].max()
    bins = profiles[profiles["curve"] == "reliability"]
    errors = {name: calibration_error(own) for name, own in bins.groupby("loss")}
    facts = pd.DataFrame({"minutes": minutes, "calibration_error": pd.Series(errors, dtype=float)})
    return facts.rename_axis("loss").reset_index()


def _tell(loss: str) -> dict[str, str]:
    spec = LOSSES.get(loss)
    if spec is None:
        return {"title": loss, "family": "", "choose_when": ""}
    return {"title": spec.title, "family": spec.family, "choose_when": spec.choose_when}


def _cell(place: pd.Series, record: dict[str, Any], key: str, several: bool) -> dict[str, Any]:
    spread = record[f"{key}_std"]
    return {
        "value": round(float(place["value"]), 6),
        "text": show(place["value"], None),
        "spread": "" if spread is None or pd.isna(spread) else f"± {spread:.3f}",
        "best": several and pd.notna(place["rank"]) and bool(place["rank"] == 1),
        "mark": _mark(place) if several else "",
        "better": (place["difference"] < 0) == METRICS[key].lower_is_better,
        "told": _told(place),
    }


def _mark(place: pd.Series) -> str:
    """An arrow where the difference to the reference is more than chance explains."""
    if pd.isna(place["p"]) or place["p"] >= SURE:
        return ""
    return "▲" if place["difference"] > 0 else "▼"


def _told(place: pd.Series) -> list[str]:
    """Interval, difference to the reference and its p, where there are any."""
    words = []
    if pd.notna(place["low"]):
        words.append(f"{place['low']:.3f} to {place['high']:.3f}")
    if pd.notna(place["difference"]):
        words.append(f"{place['difference']:+.3f}")
    if pd.notna(place["p"]):
        words.append(tell_p(place["p"]))
    return words


def _fact(record: dict[str, Any], key: str) -> dict[str, Any]:
    value = record.get(key)
    known = value is not None and not pd.isna(value)
    return {
        "value": round(float(value), 6) if known else "",
        "text": show(value, None, DIGITS.get(key, 3)) if known else "-",
        "spread": "",
        "best": False,
        "mark": "",
        "told": [],
    }
