"""Plots of results: scores by frequency group, ranks, similar labels, posteriors.

A plot whose rows are losses names them in ``layout.meta``, a trace that belongs to a loss in its
own ``meta``: the page follows the losses a reader selects by it. Of ``role`` "member", a trace is in
colour in any case.
"""

from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd
from plotly import graph_objects as go
from plotly.subplots import make_subplots
from scipy import sparse

from losslab.evaluation.error_analysis import POOLED_COLUMNS
from losslab.reporting.definitions import METRICS
from losslab.reporting.plots import (
    GROUP_COLOURS,
    apply_layout,
    literal,
    loss_colour,
    named_axis,
    shorten,
)

ROW_HEIGHT = 22
SIMILAR_HEIGHT = 18
MAX_SIMILAR_LABELS = 40
MAX_CONFUSIONS = 25
MAX_POSTERIOR_LABELS = 60
GROUP_SYMBOLS = {"head": "circle", "medium": "diamond", "tail": "square"}


def draw_group_scores(standings: pd.DataFrame) -> go.Figure:
    """Macro-F1 on head, medium and tail labels: a row per loss, a dot with its interval per group.

    Rows are sorted by macro-F1 over all labels.
    """
    figure = go.Figure()
    rows = _sorted_by(standings, "macro_f1")
    for group, colour in GROUP_COLOURS.items():
        values = standings[standings["metric"] == f"{group}/macro_f1"].set_index("loss").loc[rows]
        has_intervals = values["low"].notna().any()
        figure.add_scatter(
            x=values["value"].round(4),
            y=rows,
            error_x={
                "array": (values["high"] - values["value"]).round(4),
                "arrayminus": (values["value"] - values["low"]).round(4),
                "visible": bool(has_intervals),
                "thickness": 1.2,
                "width": 0,
            },
            name=group,
            mode="markers",
            marker={"color": colour, "size": 9, "symbol": GROUP_SYMBOLS[group]},
            hovertemplate=f"%{{y}}, {group}: %{{x:.3f}}<extra></extra>",
        )
    figure.update_xaxes(title="macro-F1, test", rangemode="tozero")
    return as_rows(apply_layout(figure, "Macro-F1 by label frequency"), rows)


def draw_ranks(standings: pd.DataFrame) -> go.Figure:
    """The rank of every comparable loss by metric: rows by mean rank, the best on top.

    A metric that some loss does not have, as that of probabilities, is left out.
    """
    table = standings.pivot_table(index="loss", columns="metric", values="rank")
    table = table.reindex(columns=list(METRICS)).dropna(axis="columns")
    values = standings.pivot_table(index="loss", columns="metric", values="value")[list(table)]
    rows = table.mean(axis=1).sort_values(kind="stable").index.tolist()
    ranks = table.loc[rows].astype(int)
    names = [METRICS[key].name for key in ranks]
    figure = go.Figure(
        go.Heatmap(
            z=ranks.to_numpy(),
            x=names,
            y=rows,
            zmin=1,
            zmax=max(len(rows), 2),
            colorscale="Blues",
            reversescale=True,
            customdata=values.loc[rows].round(4).to_numpy(),
            text=ranks.to_numpy(),
            texttemplate="%{text}",
            textfont={"size": 10},
            xgap=1,
            ygap=1,
            showscale=False,
            hovertemplate="%{y}: rank %{z} by %{x} (%{customdata:.3f})<extra></extra>",
        )
    )
    figure.update_xaxes(side="top", tickangle=-45, title=None)
    return as_rows(apply_layout(figure, "Rank of each loss by each metric, 1 is best"), rows)


def _sorted_by(standings: pd.DataFrame, metric: str) -> list[str]:
    rows = standings[standings["metric"] == metric]
    losses: list[str] = rows.sort_values("rank", kind="stable")["loss"].tolist()
    return losses


def as_rows(figure: go.Figure, rows: list[str]) -> go.Figure:
    """Make losses the rows of a plot, the first on top."""
    figure.update_yaxes(
        type="category", categoryorder="array", categoryarray=rows, dtick=1, title=None
    )
    figure.update_yaxes(range=[len(rows) - 0.5, -0.5])
    return figure.update_layout(meta={"rows": rows}, height=170 + ROW_HEIGHT * len(rows))


def draw_confusions(pooled: pd.DataFrame) -> go.Figure:
    """Documents by confused pair of labels and loss, the pairs of ``pool_confusions`` on top first."""
    shown = pooled.head(MAX_CONFUSIONS)
    losses = [column for column in pooled if column not in POOLED_COLUMNS]
    pairs = list(zip(shown["missed"], shown["predicted"], strict=True))
    rows = [literal(f"{missed} → {predicted}") for missed, predicted in pairs]
    figure = go.Figure(
        go.Heatmap(
            z=shown[losses].round(4).to_numpy(),
            x=losses,
            y=rows,
            zmin=0,
            zmax=max(shown[losses].to_numpy().max(initial=0), 1),
            colorscale="Blues",
            xgap=1,
            ygap=1,
            colorbar={"title": "documents"},
            hovertemplate="%{y}, %{x}: %{z:.4g} documents<extra></extra>",
        )
    )
    names = [
        literal(f"{shorten(missed, 28)} → {shorten(predicted, 28)}") for missed, predicted in pairs
    ]
    figure.update_yaxes(
        tickvals=rows, ticktext=names, autorange="reversed", title="missed → predicted"
    )
    figure.update_xaxes(side="top", tickangle=-60, title=None)
    height = 170 + ROW_HEIGHT * max(len(rows), 1)
    figure.update_layout(height=height, meta={"height": height})
    return apply_layout(figure, "Confused labels, summed over losses")


def draw_similar_labels(
    label_scores: pd.DataFrame,
    losses: Sequence[str],
    label_groups: sparse.sparray,
    first: Collection[str] | None = None,
) -> go.Figure:
    """A row per label, a point in it per loss; labels of a group stand together.

    Args:
        label_scores: ``label``, ``train`` (documents) and a column of F1 per loss, in the order of
            the rows of ``label_groups`` (labels x groups).
        losses: those to draw; a reader of the page selects among them.
        first: those visible at first, all by default; the others are in the legend only.

    Shown are groups of two or more labels, those with the most documents first, up to
    ``MAX_SIMILAR_LABELS`` labels.
    """
    groups = similar_groups(label_groups, label_scores["train"].to_numpy())
    positions = _axis(groups, label_scores["label"].tolist())
    names = [name for name, _ in positions]
    figure = go.Figure()
    for loss in losses:
        values = label_scores[loss].tolist()
        figure.add_scatter(
            x=[None if label is None else values[label] for _, label in positions],
            y=[literal(name) for name in names],
            mode="markers",
            name=loss,
            visible=True if first is None or loss in first else "legendonly",
            meta={"loss": loss, "role": "labels"},
            marker={"color": loss_colour(loss), "size": 8, "opacity": 0.85},
            hovertemplate=f"%{{y}}, {loss}: %{{x:.3f}}<extra></extra>",
        )
    figure.update_yaxes(type="category", autorange="reversed", **named_axis(names))
    figure.update_xaxes(title="F1, test", range=[-0.02, 1.02])
    height = 150 + SIMILAR_HEIGHT * max(len(names), 1)
    figure.update_layout(height=height, meta={"height": height})
    return apply_layout(figure, "F1 of similar labels")


def similar_groups(label_groups: sparse.sparray, documents: np.ndarray) -> list[list[int]]:
    """Labels of each group to show, most frequent first; a label stands in its first group only."""
    membership = sparse.csc_array(label_groups)
    parts = np.split(membership.indices, membership.indptr[1:-1])
    parts = [part[np.argsort(-documents[part], kind="stable")] for part in parts]
    parts = [part[documents[part] > 0] for part in parts]
    shown: list[list[int]] = []
    seen: set[int] = set()
    for part in sorted(parts, key=lambda part: -int(documents[part].sum())):
        fresh = [int(label) for label in part if label not in seen]
        room = MAX_SIMILAR_LABELS - len(seen)
        if len(fresh) > 1 and room > 1:
            shown.append(fresh[:room])
            seen.update(fresh[:room])
    return shown


def _axis(groups: list[list[int]], labels: Sequence[str]) -> list[tuple[str, int | None]]:
    """Names along the axis with their labels; None separates groups."""
    positions: list[tuple[str, int | None]] = []
    for number, group in enumerate(groups):
        if number:
            positions.append((" " * number, None))
        positions += [(labels[label], label) for label in group]
    return positions


def draw_posteriors(posteriors: Mapping[str, pd.DataFrame], label_table: pd.DataFrame) -> go.Figure:
    """What losses sample for each label: median and interval, a band where the prior lies.

    One loss at a time: the first is visible, the page has a choice.

    Args:
        posteriors: by loss, see ``tabulate_posterior``; labels the most frequent first, of many some
            spread evenly.
        label_table: ``label`` and ``group``.
    """
    parameters = list(dict.fromkeys(p for table in posteriors.values() for p in table["parameter"]))
    figure = make_subplots(rows=max(len(parameters), 1), shared_xaxes=True, vertical_spacing=0.05)
    groups = label_table.set_index("label")["group"]
    for place, (loss, table) in enumerate(posteriors.items()):
        for row, parameter in enumerate(parameters, start=1):
            rows = table[table["parameter"] == parameter].sort_values(
                "train", ascending=False, kind="stable"
            )
            rows = rows.iloc[:: -(-len(rows) // MAX_POSTERIOR_LABELS)]
            shown = _posterior_points(rows.assign(group=groups[rows["label"]].to_numpy()))
            for trace in shown:
                trace.update(meta={"loss": loss}, visible=place == 0, showlegend=row == 1)
            figure.add_traces(shown, rows=row, cols=1)
            figure.update_xaxes(type="category", **named_axis(rows["label"]))
            is_log = rows["prior"].iloc[0] == "lognormal"
            figure.update_yaxes(title=parameter, type="log" if is_log else "linear", row=row)
    figure.update_xaxes(title="labels, the most frequent first", tickangle=-60, row=len(parameters))
    return apply_layout(figure, "Posterior of sampled parameters").update_layout(height=640)


def _posterior_points(rows: pd.DataFrame) -> list[go.Scatter]:
    """The prior as a band, then the labels of each frequency group."""
    names = [literal(name) for name in rows["label"]]
    band = go.Scatter(
        x=[*names, *names[::-1]],
        y=[*rows["prior_high"].round(4), *rows["prior_low"].round(4)],
        name="prior",
        mode="lines",
        fill="toself",
        line={"width": 0, "color": "#98a2b3"},
        opacity=0.25,
        hoverinfo="skip",
    )
    return [band, *(_group_points(rows[rows["group"] == group], group) for group in GROUP_COLOURS)]


def _group_points(rows: pd.DataFrame, group: str) -> go.Scatter:
    return go.Scatter(
        x=[literal(name) for name in rows["label"]],
        y=rows["median"].round(4),
        error_y={
            "array": (rows["high"] - rows["median"]).round(4),
            "arrayminus": (rows["median"] - rows["low"]).round(4),
            "thickness": 1.2,
            "width": 0,
        },
        name=group,
        mode="markers",
        marker={"color": GROUP_COLOURS[group], "size": 7, "symbol": GROUP_SYMBOLS[group]},
        customdata=rows["train"],
        hovertemplate=f"%{{x}}, {group}, %{{customdata:,}} training documents: %{{y:.3f}}"
        "<extra></extra>",
    )
