"""Plots of scores and labels, from the score curves and error analyses of all losses."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from plotly import graph_objects as go

from losslab.evaluation import calibration_error
from losslab.reporting.plots import GROUP_COLOURS, apply_layout, literal, loss_colour

DIAGONAL = {"type": "line", "x0": 0, "y0": 0, "x1": 1, "y1": 1, "layer": "below"}
EXAMPLE_COLOURS = {
    "upper quartile": "#2a7fbf",
    "median": "#dd7a12",
    "lower quartile": "#2f9e62",
    "knee": "#c2417c",
}
"""As in the paper: orange, green and blue; the knee is dotted."""
SHARE = {"range": [-0.02, 1.02], "constrain": "domain"}


def draw_sorted_scores(curves: pd.DataFrame) -> go.Figure:
    """Scores by rank within a document: the median, and the quartiles as a band."""
    figure = go.Figure()
    for name, rows in _by_loss(curves, "sorted_scores"):
        figure.add_scatter(
            x=[*rows["x"], *rows["x"][::-1]],
            y=[*rows["high"], *rows["low"][::-1]],
            fill="toself",
            mode="lines",
            line={"width": 0, "color": loss_colour(name)},
            opacity=0.15,
            hoverinfo="skip",
            showlegend=False,
            meta={"loss": name, "role": "band"},
        )
        _add_line(figure, name, rows)
    figure.update_xaxes(title="rank of a label within its document")
    figure.update_yaxes(title="score", range=SHARE["range"])
    return apply_layout(figure, "Sorted scores: median and quartiles over documents")


def draw_example_scores(curves: pd.DataFrame) -> go.Figure:
    """Scores by rank, a line per document, with median, quartiles and knee (sigmoidF1, Figure 2).

    One loss at a time: the first is visible, the page has a choice.
    """
    figure = go.Figure()
    knees = curves[curves["curve"] == "knee"].set_index("loss")
    medians = dict(_by_loss(curves, "sorted_scores"))
    for place, (name, rows) in enumerate(_by_loss(curves, "examples")):
        parts = [_example_line(rows), *_quartile_lines(medians[name])]
        parts += [_knee_line(knees.loc[name])] if name in knees.index else []
        for part in parts:
            part.update(meta={"loss": name}, visible=place == 0, mode="lines")
        figure.add_traces(parts)
    figure.update_xaxes(title="rank of a label within its document")
    figure.update_yaxes(title="score", range=SHARE["range"])
    return apply_layout(figure, "Sorted scores of single documents")


def _example_line(rows: pd.DataFrame) -> go.Scatter:
    """The documents of a loss as one line with gaps."""
    rows = rows.round(3)
    parts = [part for _, part in rows.groupby("document", sort=False)]
    return go.Scatter(
        x=[x for part in parts for x in (*part["x"].astype(int), None)],
        y=[y for part in parts for y in (*part["y"], None)],
        name="documents",
        line={"color": "#98a2b3", "width": 1},
        opacity=0.45,
        hoverinfo="skip",
    )


def _quartile_lines(rows: pd.DataFrame) -> list[go.Scatter]:
    lines = {"upper quartile": "high", "median": "y", "lower quartile": "low"}
    return [
        go.Scatter(
            x=rows["x"], y=rows[key], name=name, line={"color": EXAMPLE_COLOURS[name], "width": 2.2}
        )
        for name, key in lines.items()
    ]


def _knee_line(knee: pd.Series) -> go.Scatter:
    x, y = int(knee["x"]), round(float(knee["y"]), 3)
    return go.Scatter(
        x=[0, x, x],
        y=[y, y, 0],
        name=f"knee: rank {x}, score {y:.2f}",
        line={"color": EXAMPLE_COLOURS["knee"], "width": 1.6, "dash": "dot"},
        hoverinfo="skip",
    )


def draw_reliability(curves: pd.DataFrame) -> go.Figure:
    """Share of true labels by score; the legend has the expected calibration error."""
    figure = go.Figure()
    for name, rows in _by_loss(curves, "reliability"):
        _add_line(figure, name, rows, mode="lines+markers", text=rows["weight"].astype(int))
        counts = rows["weight"].to_numpy() * np.stack([np.ones(len(rows)), rows["x"], rows["y"]])
        figure.data[-1].name = f"{name} ({calibration_error(counts):.3f})"
        figure.data[-1].hovertemplate = (
            f"{name}: %{{y:.2f}} of %{{text:,}} labels with score about %{{x:.2f}} are true"
            "<extra></extra>"
        )
    figure.add_shape(**DIAGONAL, line={"dash": "dot", "color": "#98a2b3", "width": 1})
    figure.update_xaxes(title="mean score of a bin", **SHARE)
    figure.update_yaxes(title="share of true labels", **SHARE)
    return apply_layout(figure, "Reliability, with the expected calibration error")


def draw_precision_recall(curves: pd.DataFrame) -> go.Figure:
    """Micro-averaged precision and recall at each threshold; a dot marks the operating point."""
    figure = go.Figure()
    decisions = curves[curves["curve"] == "decision"].set_index("loss")
    for name, rows in _by_loss(curves, "precision_recall"):
        _add_line(figure, name, rows, text=rows["at"].round(3))
        figure.data[
            -1
        ].hovertemplate = (
            f"{name}: threshold %{{text}}, recall %{{x:.2f}}, precision %{{y:.2f}}<extra></extra>"
        )
        point = decisions.loc[name]
        figure.add_scatter(
            x=[round(point["x"], 4)],
            y=[round(point["y"], 4)],
            mode="markers",
            marker={"color": loss_colour(name), "size": 9},
            showlegend=False,
            hovertemplate=f"{name}, operating point: recall %{{x:.2f}}, precision %{{y:.2f}}"
            "<extra></extra>",
            meta={"loss": name, "role": "mark"},
        )
    figure.update_xaxes(title="recall", **SHARE)
    figure.update_yaxes(title="precision", **SHARE)
    return apply_layout(figure, "Precision-recall curves")


def draw_label_scatter(label_scores: pd.DataFrame, first: str, second: str) -> go.Figure:
    """Each label's F1 with one loss against that with another, coloured by frequency group.

    Args:
        label_scores: ``label group train`` and a column of F1 per loss.
    """
    figure = go.Figure()
    for group, colour in GROUP_COLOURS.items():
        rows = label_scores[label_scores["group"] == group]
        figure.add_scatter(
            x=rows[first].round(4),
            y=rows[second].round(4),
            name=group,
            mode="markers",
            marker={"color": colour, "size": 8, "opacity": 0.8},
            text=rows["label"].map(literal),
            customdata=rows["train"],
            hovertemplate="%{text}: %{x:.2f} and %{y:.2f}, %{customdata:,} training documents"
            "<extra></extra>",
        )
    figure.add_shape(**DIAGONAL, line={"dash": "dot", "color": "#98a2b3", "width": 1})
    figure.update_xaxes(title=f"F1 with {first}", **SHARE)
    figure.update_yaxes(title=f"F1 with {second}", **SHARE)
    return apply_layout(figure, f"F1 by label: {first} and {second}")


def tabulate_label_scores(
    errors: Mapping[str, Mapping[str, Any]], label_table: pd.DataFrame, label_space: Sequence[str]
) -> pd.DataFrame:
    """The label table, ``label group train``, with a column of F1 per loss.

    Args:
        errors: error analyses by loss, whose ``f1_by_label`` is in the order of ``label_space``.
    """
    kept = label_table[["label", "group", "train"]].reset_index(drop=True)
    scores = pd.DataFrame(
        {loss: result["f1_by_label"] for loss, result in errors.items()}, index=list(label_space)
    )
    return pd.concat([kept, scores.loc[kept["label"]].reset_index(drop=True)], axis=1)


def _by_loss(curves: pd.DataFrame, curve: str) -> list[tuple[str, pd.DataFrame]]:
    rows = curves[curves["curve"] == curve]
    return [(str(name), part.round(4)) for name, part in rows.groupby("loss", sort=False)]


def _add_line(
    figure: go.Figure,
    name: str,
    rows: pd.DataFrame,
    mode: str = "lines",
    text: pd.Series | None = None,
) -> None:
    figure.add_scatter(
        x=rows["x"],
        y=rows["y"],
        name=name,
        mode=mode,
        line={"color": loss_colour(name), "width": 1.8},
        marker={"size": 6},
        text=text,
        meta={"loss": name},
    )
