"""Figures of scores and labels, from the table of all losses' score profiles."""

from collections.abc import Sequence

import pandas as pd
from plotly import graph_objects as go

from losslab.reporting.figures import loss_colour
from losslab.reporting.style import GROUP_COLOURS, finish

DIAGONAL = {"type": "line", "x0": 0, "y0": 0, "x1": 1, "y1": 1, "layer": "below"}
SHARE = {"range": [-0.02, 1.02], "constrain": "domain"}


def draw_sorted_scores(profiles: pd.DataFrame) -> go.Figure:
    """Scores by their place in a document's ranking: the median, and the quartiles as a band."""
    figure = go.Figure()
    for name, own in _by_loss(profiles, "sorted_scores"):
        figure.add_scatter(
            x=[*own["x"], *own["x"][::-1]],
            y=[*own["high"], *own["low"][::-1]],
            fill="toself",
            mode="lines",
            line={"width": 0, "color": loss_colour(name)},
            opacity=0.15,
            hoverinfo="skip",
            showlegend=False,
            meta={"loss": name, "role": "band"},
        )
        _add_line(figure, name, own)
    figure.update_xaxes(title="place of a label in its document's ranking")
    figure.update_yaxes(title="score", range=SHARE["range"])
    return finish(figure, "Sorted scores: median and quartiles over documents")


def draw_reliability(profiles: pd.DataFrame) -> go.Figure:
    """How often labels of a score are true; the legend tells the expected calibration error."""
    figure = go.Figure()
    for name, own in _by_loss(profiles, "reliability"):
        _add_line(figure, name, own, mode="lines+markers", text=own["weight"].astype(int))
        figure.data[-1].name = f"{name} ({calibration_error(own):.3f})"
        figure.data[-1].hovertemplate = (
            f"{name}: %{{y:.2f}} of %{{text:,}} labels scored about %{{x:.2f}} are true"
            "<extra></extra>"
        )
    figure.add_shape(**DIAGONAL, line={"dash": "dot", "color": "#98a2b3", "width": 1})
    figure.update_xaxes(title="mean score of a bin", **SHARE)
    figure.update_yaxes(title="share of true labels", **SHARE)
    return finish(figure, "Reliability, with the expected calibration error")


def draw_precision_recall(profiles: pd.DataFrame) -> go.Figure:
    """Micro-averaged precision and recall at each threshold; a dot marks the one that was tuned."""
    figure = go.Figure()
    decisions = profiles[profiles["curve"] == "decision"].set_index("loss")
    for name, own in _by_loss(profiles, "precision_recall"):
        _add_line(figure, name, own, text=own["at"].round(3))
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
            hovertemplate=f"{name}, as decided: recall %{{x:.2f}}, precision %{{y:.2f}}"
            "<extra></extra>",
            meta={"loss": name, "role": "mark"},
        )
    figure.update_xaxes(title="recall", **SHARE)
    figure.update_yaxes(title="precision", **SHARE)
    return finish(figure, "Precision and recall at each threshold")


def draw_label_scatter(label_scores: pd.DataFrame, first: str, second: str) -> go.Figure:
    """Each label's F1 with one loss against that with another, coloured by frequency group.

    Args:
        label_scores: ``label group train`` and a column of F1 per loss.
    """
    figure = go.Figure()
    for group, colour in GROUP_COLOURS.items():
        own = label_scores[label_scores["group"] == group]
        figure.add_scatter(
            x=own[first].round(4),
            y=own[second].round(4),
            name=group,
            mode="markers",
            marker={"color": colour, "size": 8, "opacity": 0.8},
            text=own["label"],
            customdata=own["train"],
            hovertemplate="%{text}: %{x:.2f} and %{y:.2f}, %{customdata:,} training documents"
            "<extra></extra>",
        )
    figure.add_shape(**DIAGONAL, line={"dash": "dot", "color": "#98a2b3", "width": 1})
    figure.update_xaxes(title=f"F1 with {first}", **SHARE)
    figure.update_yaxes(title=f"F1 with {second}", **SHARE)
    return finish(figure, f"Label by label: F1 with {first} and {second}")


def tabulate_label_scores(
    profiles: pd.DataFrame, label_table: pd.DataFrame, label_space: Sequence[str]
) -> pd.DataFrame:
    """The label table, ``label group train``, with a column of F1 per loss."""
    own = profiles[profiles["curve"] == "label_f1"]
    wide = own.pivot_table(index="x", columns="loss", values="y", sort=False)
    named = wide.set_axis([label_space[int(number)] for number in wide.index])
    kept = label_table[["label", "group", "train"]].reset_index(drop=True)
    return pd.concat([kept, named.loc[kept["label"]].reset_index(drop=True)], axis=1)


def calibration_error(reliability: pd.DataFrame) -> float:
    """Expected calibration error: how far scores and shares lie apart, weighted by bin.

    >>> calibration_error(pd.DataFrame({"x": [0.1, 0.9], "y": [0.2, 0.9], "weight": [3, 1]}))
    0.075
    """
    gap = (reliability["x"] - reliability["y"]).abs()
    return round(float((gap * reliability["weight"]).sum() / reliability["weight"].sum()), 12)


def _by_loss(profiles: pd.DataFrame, curve: str) -> list[tuple[str, pd.DataFrame]]:
    own = profiles[profiles["curve"] == curve]
    return [(str(name), part.round(4)) for name, part in own.groupby("loss", sort=False)]


def _add_line(
    figure: go.Figure,
    name: str,
    own: pd.DataFrame,
    mode: str = "lines",
    text: pd.Series | None = None,
) -> None:
    figure.add_scatter(
        x=own["x"],
        y=own["y"],
        name=name,
        mode=mode,
        line={"color": loss_colour(name), "width": 1.8},
        marker={"size": 6},
        text=text,
        meta={"loss": name},
    )
