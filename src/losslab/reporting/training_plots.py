"""Plots of trainings: a line per loss, from the histories of all losses."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from plotly import graph_objects as go
from plotly.subplots import make_subplots

from losslab.evaluation import describe_training, summarise_trainings
from losslab.reporting.plots import apply_layout, loss_colour

LINES = [
    "train_steps",
    "train_loss",
    "train_hard_loss",
    "train_soft_loss",
    "validation_loss",
    "validation_macro_f1",
    "validation_subset_accuracy",
]
"""Columns of a history that are shown, where a loss has them."""


def gather_histories(histories: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per loss and epoch, means of the seeds.

    Columns: ``loss epoch minutes best_macro_f1 selection`` and ``LINES``. ``best_macro_f1`` is the
    best validation macro-F1 so far, of each seed, then averaged. A seed that has stopped keeps its
    minutes and its best, so that neither decreases. ``selection`` says what each seed was selected by
    and why it ended. A baseline has one row without an epoch: the minutes and the outcome of its
    search.
    """
    parts = [
        _mean_of(history).assign(loss=name, selection=describe_selection(history))
        for name, history in histories.items()
    ]
    return pd.concat(parts, ignore_index=True)


def describe_selection(history: pd.DataFrame) -> str:
    """What each seed of a loss was selected by, and why it ended; "" of results that do not tell."""
    if "select_by" not in history:
        return ""
    seeds = summarise_trainings(history)["seeds"]
    told = {seed: describe_training(facts) for seed, facts in seeds.items()}
    if len(told) == 1:
        return next(iter(told.values()))
    return "; ".join(f"seed {seed} {text}" for seed, text in told.items())


def _mean_of(history: pd.DataFrame) -> pd.DataFrame:
    shown = ["minutes", *LINES, "best_macro_f1"]
    table = history.reindex(columns=["epoch", "seed", "train_seconds", *shown])
    table["minutes"] = table["train_seconds"] / 60
    table["best_macro_f1"] = table.groupby("seed")["validation_macro_f1"].cummax()
    if "setting" in history:
        return pd.DataFrame([{"epoch": np.nan, "minutes": table["minutes"].max()}])
    mean = table.groupby("epoch")[shown].mean()
    for column in ("minutes", "best_macro_f1"):
        by_seed = table.pivot_table(index="epoch", columns="seed", values=column, dropna=False)
        mean[column] = by_seed.ffill().mean(axis=1)
    return mean.reset_index()


def draw_learning_curves(curves: pd.DataFrame) -> go.Figure:
    """Validation macro-F1 by epoch; a line tells what its training was selected by."""
    figure = _lines(curves, "epoch", "validation_macro_f1")
    for line, (_, rows) in zip(figure.data, curves.groupby("loss", sort=False), strict=True):
        line.hovertext = rows["selection"].iloc[0].replace("; ", "<br>")
    figure.update_xaxes(title="epoch")
    figure.update_yaxes(title="macro-F1, validation", rangemode="tozero")
    return apply_layout(figure, "Validation macro-F1 by epoch")


def draw_learning_time(curves: pd.DataFrame) -> go.Figure:
    """The best validation macro-F1 so far by minute of training."""
    figure = _lines(curves, "minutes", "best_macro_f1")
    figure.update_traces(line_shape="hv")
    figure.update_xaxes(title="minutes of training", rangemode="tozero")
    figure.update_yaxes(title="best macro-F1 so far, validation", rangemode="tozero")
    return apply_layout(figure, "Best validation macro-F1 by training time")


def draw_training_curves(curves: pd.DataFrame) -> go.Figure:
    """Training (solid) and validation loss (dotted), each relative to its first epoch.

    Losses have no common scale; relative decrease and overfitting can be compared.
    """
    relative = curves.copy()
    for column in ("train_loss", "validation_loss"):
        first = relative.groupby("loss")[column].transform("first")
        relative[column] = (relative[column] / first).where(first > 0)
    solid = _lines(relative, "epoch", "train_loss")
    dotted = _lines(relative, "epoch", "validation_loss")
    dotted.update_traces(line_dash="dot", showlegend=False)
    figure = go.Figure([*solid.data, *dotted.data])
    figure.update_xaxes(title="epoch")
    figure.update_yaxes(title="loss, first epoch = 1", range=[0, 1.6])
    return apply_layout(figure, "Training loss (solid) and validation loss (dotted)")


def draw_hard_and_soft_loss(curves: pd.DataFrame, from_step: int = 0) -> go.Figure:
    """Both terms of a training loss with soft targets, and subset accuracy, by step (KWLS, Figure 2).

    A dashed line stands at ``from_step``, before which the soft loss is 0.
    """
    panels = {
        "hard loss": "train_hard_loss",
        "soft loss": "train_soft_loss",
        "accuracy": "validation_subset_accuracy",
    }
    figure = make_subplots(rows=len(panels), shared_xaxes=True, vertical_spacing=0.05)
    shown = curves[curves["train_soft_loss"].notna()]
    for row, (title, column) in enumerate(panels.items(), start=1):
        lines = _lines(shown, "train_steps", column, decimals=9, role="member")
        lines.update_traces(showlegend=row == 1, line_dash="solid")
        figure.add_traces(lines.data, rows=row, cols=1)
        figure.update_yaxes(title=title, rangemode="tozero", row=row)
    if from_step and len(shown):
        figure.add_vline(from_step, line={"dash": "dash", "color": "#98a2b3", "width": 1})
    figure.update_xaxes(title="training step", row=len(panels))
    return apply_layout(figure, "Hard loss, soft loss and validation accuracy")


def _lines(curves: pd.DataFrame, x: str, y: str, *, decimals: int = 4, **meta: str) -> go.Figure:
    figure = go.Figure()
    for name, rows in curves.groupby("loss", sort=False):
        figure.add_scatter(
            x=rows[x].round(4),
            y=rows[y].round(decimals),
            name=name,
            mode="lines",
            line={"color": loss_colour(name), "width": 1.6},
            meta={"loss": name, **meta},
        )
    return figure
