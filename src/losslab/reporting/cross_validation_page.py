"""The page of a cross-validation: its table, a plot of every fold, how it was made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from plotly import graph_objects as go

from losslab.reporting.best_losses import SIGNIFICANCE_LEVEL, format_p
from losslab.reporting.comparison import format_mean_std, markdown_table
from losslab.reporting.definitions import (
    COLUMNS,
    FOLD_COLUMNS,
    METRICS,
    SHOWN_COLUMNS,
    lower_is_better,
)
from losslab.reporting.plots import apply_layout, loss_colour
from losslab.reporting.report_page import as_json, page_environment, plot_as_json
from losslab.reporting.result_plots import as_rows

HEADLINE = "macro_f1"
"""The metric that losses are sorted and drawn by."""


@dataclass(frozen=True)
class FoldRunPart:
    """Provenance of a cross-validation: names, folds, seeds, source, versions."""

    dataset: str
    recipe: str
    folds: int
    seeds: Sequence[str]
    reference: str
    command: str = ""
    commit: str = ""
    dirty: bool | None = None
    versions: Mapping[str, str] = field(default_factory=dict)


def draw_fold_scores(scores: pd.DataFrame, comparison: pd.DataFrame) -> go.Figure:
    """Macro-F1 of every fold, a row per loss, the best mean on top; a line marks the mean."""
    means = _metric_rows(comparison, HEADLINE)["mean"].dropna()
    rows = means.index.tolist()
    figure = go.Figure()
    figure.add_scatter(
        x=means.round(4),
        y=rows,
        name="mean",
        mode="markers",
        marker={"symbol": "line-ns", "size": 16, "line": {"width": 3, "color": "#888888"}},
        hovertemplate="%{y}, mean: %{x:.3f}<extra></extra>",
    )
    values = scores[scores["metric"] == HEADLINE]
    for fold, part in values.groupby("fold"):
        figure.add_scatter(
            x=part["value"].round(4),
            y=part["loss"],
            name=f"fold {fold}",
            mode="markers",
            marker={"size": 8, "opacity": 0.75, "color": [loss_colour(n) for n in part["loss"]]},
            showlegend=False,
            hovertemplate=f"%{{y}}, fold {fold}: %{{x:.3f}}<extra></extra>",
        )
    figure.update_xaxes(title="macro-F1, test")
    return as_rows(apply_layout(figure, "Macro-F1 by fold"), rows)


def folds_to_markdown(comparison: pd.DataFrame, reference: str) -> str:
    """The comparison over folds as a Markdown table for a terminal, by macro-F1."""
    tables = {metric: _metric_rows(comparison, metric) for metric in FOLD_COLUMNS}
    header = ["loss", *(COLUMNS[metric] for metric in FOLD_COLUMNS)]
    header += [f"{COLUMNS[HEADLINE]} vs {reference}", "p (Holm)", "folds"]
    body, marks = [], fold_marks_of(comparison)
    for loss, row in tables[HEADLINE].iterrows():
        means = [_mean_std(table.loc[loss]) for table in tables.values()]
        name = f"{loss} *" if loss in marks else str(loss)
        body.append([name, *means, *_difference_and_p(row), _folds(row)])
    explained = [f"* {loss} {mark}" for loss, mark in marks.items()]
    return "\n".join([markdown_table(header, body), *explained])


def fold_marks_of(comparison: pd.DataFrame) -> dict[str, str]:
    """By loss: why it had not learned; those that had are absent."""
    marks = _metric_rows(comparison, HEADLINE)["mark"].fillna("")
    return {str(loss): mark for loss, mark in marks.items() if mark}


def missing_folds(comparison: pd.DataFrame) -> dict[str, str]:
    """By loss: the folds it has no result of; complete losses are absent."""
    missing = _metric_rows(comparison, HEADLINE)["missing_folds"].fillna("")
    return {str(loss): folds for loss, folds in missing.items() if folds}


def render_cross_validation(comparison: pd.DataFrame, plot: go.Figure, run: FoldRunPart) -> str:
    """The page as HTML."""
    return (
        page_environment()
        .get_template("cross_validation.html.j2")
        .render(
            run=run,
            best=_best(comparison, run.reference),
            columns={key: METRICS[key] for key in SHOWN_COLUMNS},
            rows=_rows(comparison),
            missing=missing_folds(comparison),
            marks=fold_marks_of(comparison),
            data=as_json({"figures": {"fold_scores": plot_as_json(plot)}}),
        )
    )


def _metric_rows(comparison: pd.DataFrame, metric: str) -> pd.DataFrame:
    return comparison[comparison["metric"] == metric].set_index("loss")


def _rows(comparison: pd.DataFrame) -> list[dict[str, Any]]:
    """A row per loss, the best macro-F1 first, a cell per shown metric."""
    tables = {metric: _metric_rows(comparison, metric) for metric in SHOWN_COLUMNS}
    return [
        {
            "loss": loss,
            "folds": _folds(row),
            "cells": [_cell(table, str(loss), metric) for metric, table in tables.items()],
        }
        for loss, row in tables[HEADLINE].iterrows()
    ]


def _cell(table: pd.DataFrame, loss: str, metric: str) -> dict[str, Any]:
    row = table.loc[loss]
    details = [] if pd.isna(row["difference"]) else [f"{row['difference']:+.3f}"]
    details += [] if pd.isna(row["p_holm"]) else [format_p(row["p_holm"])]
    significant = row["p_holm"] < SIGNIFICANCE_LEVEL  # False where p is missing
    return {
        "text": _mean_std(row),
        "best": len(table) > 1 and loss == _best_loss(table),
        "mark": ("▲" if row["difference"] > 0 else "▼") if significant else "",
        "better": (row["difference"] < 0) == lower_is_better(metric),
        "details": ", ".join(details),
    }


def _best(comparison: pd.DataFrame, reference: str) -> dict[str, Any]:
    """The loss of best macro-F1, and how sure its lead over the reference is."""
    table = _metric_rows(comparison, HEADLINE)
    row = table.loc[_best_loss(table)]
    sure = "not tested"
    if pd.notna(row["p_holm"]):
        verdict = "significant" if row["p_holm"] < SIGNIFICANCE_LEVEL else "not significant"
        sure = f"{verdict} ({format_p(row['p_holm'])}, paired t-test over folds, Holm)"
    return {
        "loss": row.name,
        "losses": int(table["mean"].notna().sum()),
        "value": _mean_std(row),
        "difference": None if row.name == reference else f"{row['difference']:+.3f}",
        "sure": sure,
    }


def _best_loss(table: pd.DataFrame) -> str:
    """The first loss that has every fold: the mean of fewer may be that of easy ones."""
    complete = table[table["missing_folds"].fillna("") == ""]
    return str((complete if len(complete) else table).index[0])


def _mean_std(row: pd.Series) -> str:
    return "-" if pd.isna(row["mean"]) else format_mean_std(row["mean"], row["std"])


def _difference_and_p(row: pd.Series) -> list[str]:
    difference, p = row["difference"], row["p_holm"]
    return [
        "" if pd.isna(difference) else f"{difference:+.3f}",
        "" if pd.isna(p) else format_p(p).removeprefix("p ").removeprefix("= "),
    ]


def _folds(row: pd.Series) -> str:
    missing = row["missing_folds"]
    lacking = f" (no {missing})" if isinstance(missing, str) and missing else ""
    return f"{row['folds']}{lacking}"
