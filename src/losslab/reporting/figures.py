"""Figures, each from one tidy table."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from plotly import graph_objects as go
from plotly.colors import qualitative

from losslab.losses import LOSSES

GROUP_COLOURS = {"head": "#3b6ea5", "medium": "#7a9e3f", "tail": "#c8553d"}
MOST_ABOVE = 8  # entries of a legend that fit above a figure; more stand beside it
LOSS_COLOURS = [*qualitative.Dark24, *qualitative.Light24]


def draw_label_distribution(label_table: pd.DataFrame) -> go.Figure:
    """Training documents per label, most frequent first, coloured by frequency group."""
    figure = go.Figure()
    for group, colour in GROUP_COLOURS.items():
        part = label_table[label_table["group"] == group]
        figure.add_bar(x=part["label"], y=part["train"], name=group, marker_color=colour)
    figure.update_xaxes(showticklabels=len(label_table) <= 60, tickangle=-60, title="label")
    figure.update_yaxes(title="training documents")
    return _finish(figure, "Label distribution")


def draw_group_scores(metrics: Mapping[str, Mapping[str, Any]]) -> go.Figure:
    """Macro-F1 on the head, medium and tail labels of the test split, a bar per loss."""
    figure = go.Figure()
    for name, result in metrics.items():
        keys = [f"{group}/macro_f1" for group in GROUP_COLOURS]
        spread = [result["std"][key] for key in keys]
        figure.add_bar(
            x=list(GROUP_COLOURS),
            y=[result["mean"][key] for key in keys],
            error_y={"array": spread, "visible": None not in spread},
            name=name,
            marker_color=loss_colour(name),
        )
    figure.update_xaxes(title="labels by frequency")
    figure.update_yaxes(title="macro-F1, test", range=[0, 1])
    return _finish(figure, "Macro-F1 by label frequency")


def draw_learning_curves(histories: Mapping[str, pd.DataFrame]) -> go.Figure:
    """Validation macro-F1 by epoch: a line per loss, the mean of the seeds still training."""
    figure = go.Figure()
    for name, history in histories.items():
        mean = history.groupby("epoch")["validation_macro_f1"].mean()
        figure.add_scatter(
            x=mean.index, y=mean, name=name, mode="lines", line={"color": loss_colour(name)}
        )
    figure.update_xaxes(title="epoch")
    figure.update_yaxes(title="macro-F1, validation", rangemode="tozero")
    return _finish(figure, "Validation macro-F1 by epoch")


def loss_colour(loss: str) -> str:
    """A loss's own colour, by its place in ``LOSSES``: the same in every figure."""
    return (
        LOSS_COLOURS[list(LOSSES).index(loss) % len(LOSS_COLOURS)] if loss in LOSSES else "#666666"
    )


def _finish(figure: go.Figure, title: str) -> go.Figure:
    above = {"orientation": "h", "y": 1.08, "x": 1, "xanchor": "right"}
    return figure.update_layout(
        title=title,
        template="plotly_white",
        legend=above if len(figure.data) <= MOST_ABOVE else {"orientation": "v"},
        margin={"l": 60, "r": 20, "t": 80, "b": 60},
    )
