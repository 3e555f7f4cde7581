"""The page of a retrieval run: Recall@k and MRR of every method, a plot, how it was made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from plotly import graph_objects as go

from losslab.losses import LOSSES
from losslab.reporting.best_losses import SIGNIFICANCE_LEVEL, format_p
from losslab.reporting.comparison import format_mean_std, markdown_table
from losslab.reporting.plots import apply_layout
from losslab.reporting.report_page import as_json, page_environment, plot_as_json
from losslab.reporting.sweep_page import COLOURS

HEADLINE = "mrr"
"""The metric that the lead sentence is about."""
REFERENCES = {
    "bm25": "BM25, words alone",
    "zero_shot": "frozen encoder, not trained on the corpus",
}
"""Methods without a training, and what they are."""
HARD = "ce"
DODGE = 0.1
"""Between methods at the same metric."""


@dataclass(frozen=True)
class RetrievalRunPart:
    """Provenance of a retrieval run: names, protocol, source, versions."""

    dataset: str
    recipe: str
    reference: str
    confidence: float
    resamples: int
    negatives: int
    batch_size: int
    command: str = ""
    commit: str = ""
    dirty: bool | None = None
    versions: Mapping[str, str] = field(default_factory=dict)


def metric_title(metric: str) -> str:
    """The name of a metric as readers know it.

    >>> metric_title("recall_at_10"), metric_title("mrr")
    ('Recall@10', 'MRR')
    """
    return metric.replace("recall_at_", "Recall@") if metric != HEADLINE else "MRR"


def describe_method(method: str) -> str:
    """What a method is: its targets, or what a reference is.

    >>> describe_method("ce"), describe_method("kwls")
    ('hard labels', 'Keyword label smoothing')
    """
    if method == HARD:
        return "hard labels"
    return REFERENCES.get(method) or LOSSES[method].title


def draw_recall(comparison: pd.DataFrame) -> go.Figure:
    """Every metric of every method with its interval, side by side."""
    metrics, methods = _names(comparison, "metric"), _names(comparison, "method")
    figure = go.Figure()
    for place, method in enumerate(methods):
        rows = comparison[comparison["method"] == method]
        shift = (place - (len(methods) - 1) / 2) * DODGE
        value = rows["value"].to_numpy()
        figure.add_scatter(
            x=[metrics.index(metric) + shift for metric in rows["metric"]],
            y=value.round(4),
            error_y={
                "array": (rows["high"].to_numpy() - value).round(4),
                "arrayminus": (value - rows["low"].to_numpy()).round(4),
                "thickness": 1.2,
                "width": 2,
            },
            name=method,
            mode="markers",
            marker={
                "size": 9,
                "color": "#777777" if method in REFERENCES else COLOURS[place % len(COLOURS)],
                "symbol": "diamond-open" if method in REFERENCES else "circle",
            },
            hovertemplate=f"{method}: %{{y:.3f}}<extra></extra>",
        )
    ticks = {"tickvals": list(range(len(metrics))), "ticktext": [*map(metric_title, metrics)]}
    figure.update_xaxes(range=[-0.5, len(metrics) - 0.5], **ticks)
    figure.update_yaxes(range=[0, 1.02], title="share of the test questions; MRR")
    return apply_layout(figure, "Recall@k and MRR").update_layout(meta={"height": 440})


def retrieval_to_markdown(comparison: pd.DataFrame, reference: str) -> str:
    """The comparison as a Markdown table for a terminal."""
    metrics = _names(comparison, "metric")
    header = ["method", *map(metric_title, metrics), f"MRR vs {reference}", "p (Holm)"]
    body = []
    for method in _names(comparison, "method"):
        rows = _by_metric(comparison, method)
        values = [format_mean_std(row["value"], row["std"]) for _, row in rows.iterrows()]
        last = rows.loc[HEADLINE]
        difference = "" if pd.isna(last["difference"]) else f"{last['difference']:+.3f}"
        p = "" if pd.isna(last["p_holm"]) else format_p(last["p_holm"])
        body.append([method, *values, difference, p.removeprefix("p ").removeprefix("= ")])
    return markdown_table(header, body)


def render_retrieval(
    comparison: pd.DataFrame,
    plot: go.Figure,
    corpus: Mapping[str, Any],
    failed: Mapping[str, str],
    run: RetrievalRunPart,
) -> str:
    """The page as HTML."""
    return (
        page_environment()
        .get_template("retrieval.html.j2")
        .render(
            run=run,
            corpus=corpus,
            failed=failed,
            best=_best(comparison, run.reference),
            seeds=int(comparison["seeds"].max()),
            metrics=[metric_title(metric) for metric in _names(comparison, "metric")],
            rows=_rows(comparison),
            marks=_marks(comparison),
            data=as_json({"figures": {"retrieval": plot_as_json(plot)}}),
        )
    )


def _names(comparison: pd.DataFrame, column: str) -> list[str]:
    return list(dict.fromkeys(comparison[column]))


def _by_metric(comparison: pd.DataFrame, method: str) -> pd.DataFrame:
    return comparison[comparison["method"] == method].set_index("metric")


def _marks(comparison: pd.DataFrame) -> dict[str, str]:
    """By method: why its training had not learned; those that had are absent."""
    marks = comparison.drop_duplicates("method").set_index("method")["mark"].fillna("")
    return {str(method): mark for method, mark in marks.items() if mark}


def _rows(comparison: pd.DataFrame) -> list[dict[str, Any]]:
    """A row per method with a cell per metric, in the order of the comparison."""
    best = comparison.groupby("metric")["value"].max()
    return [
        {
            "method": method,
            "about": describe_method(method),
            "trained": method not in REFERENCES,
            "cells": [
                _cell(row, is_best=row["value"] == best[metric])
                for metric, row in _by_metric(comparison, method).iterrows()
            ],
        }
        for method in _names(comparison, "method")
    ]


def _cell(row: pd.Series, *, is_best: bool) -> dict[str, Any]:
    tested = pd.notna(row["p_holm"])
    significant = tested and row["p_holm"] < SIGNIFICANCE_LEVEL
    details = [f"{row['difference']:+.3f}", format_p(row["p_holm"])] if tested else []
    return {
        "text": format_mean_std(row["value"], row["std"]),
        "interval": f"{row['low']:.3f} to {row['high']:.3f}",
        "best": is_best,
        "mark": ("▲" if row["difference"] > 0 else "▼") if significant else "",
        "better": bool(tested and row["difference"] > 0),
        "details": ", ".join(details),
    }


def _best(comparison: pd.DataFrame, reference: str) -> dict[str, Any]:
    """The trained method of best MRR, and how sure its lead over the reference is."""
    rows = comparison[comparison["metric"] == HEADLINE].set_index("method")
    trained = rows[[method not in REFERENCES for method in rows.index]]
    row = trained.loc[trained["value"].idxmax()]
    sure = "not tested"
    if pd.notna(row["p_holm"]):
        verdict = "significant" if row["p_holm"] < SIGNIFICANCE_LEVEL else "not significant"
        sure = f"{verdict} ({format_p(row['p_holm'])}, paired bootstrap over questions, Holm)"
    return {
        "method": row.name,
        "value": format_mean_std(row["value"], row["std"]),
        "difference": None if row.name == reference else f"{row['difference']:+.3f}",
        "sure": sure,
        "above": _above(rows, row["value"]),
    }


def _above(rows: pd.DataFrame, value: float) -> Sequence[str]:
    """References that are better than the best trained method."""
    return [name for name in REFERENCES if name in rows.index and rows.loc[name, "value"] > value]
