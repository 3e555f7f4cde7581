"""Plots of trainings: a line per loss, from the histories of all losses."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from plotly import graph_objects as go

from losslab.evaluation import describe_training, summarise_trainings
from losslab.reporting.plots import apply_layout, loss_colour


def gather_histories(histories: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """One row per loss and epoch, means of the seeds.

    Columns: ``loss epoch minutes train_loss validation_loss validation_macro_f1 best_macro_f1
    selection``. ``best_macro_f1`` is the best validation macro-F1 so far, of each seed, then
    averaged. A seed that has stopped keeps its minutes and its best, so that neither decreases.
    ``selection`` says what each seed was selected by and why it ended. A baseline has one row without
    an epoch: the minutes and the outcome of its search.
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
    shown = ["minutes", "train_loss", "validation_loss", "validation_macro_f1", "best_macro_f1"]
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


def _lines(curves: pd.DataFrame, x: str, y: str) -> go.Figure:
    figure = go.Figure()
    for name, rows in curves.groupby("loss", sort=False):
        figure.add_scatter(
            x=rows[x].round(4),
            y=rows[y].round(4),
            name=name,
            mode="lines",
            line={"color": loss_colour(name), "width": 1.6},
            meta={"loss": name},
        )
    return figure
