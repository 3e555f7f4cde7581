"""Figures of results, each from one tidy table."""

from collections.abc import Mapping
from typing import Any

import pandas as pd
from plotly import graph_objects as go
from plotly.colors import qualitative

from losslab.losses import LOSSES
from losslab.reporting.style import GROUP_COLOURS, finish

LOSS_COLOURS = [*qualitative.Dark24, *qualitative.Light24]


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
    return finish(figure, "Macro-F1 by label frequency")


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
    return finish(figure, "Validation macro-F1 by epoch")


def loss_colour(loss: str) -> str:
    """A loss's own colour, by its place in ``LOSSES``: the same in every figure."""
    return (
        LOSS_COLOURS[list(LOSSES).index(loss) % len(LOSS_COLOURS)] if loss in LOSSES else "#666666"
    )
