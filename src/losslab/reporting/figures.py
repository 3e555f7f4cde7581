"""Figures of results: a row per loss, each from the table of standings.

A figure whose rows are losses names them in ``layout.meta``, a trace that belongs to a loss in its
own ``meta``: that is how the page follows the losses a reader chooses.
"""

import pandas as pd
from plotly import graph_objects as go
from plotly.colors import qualitative

from losslab.losses import LOSSES
from losslab.reporting.definitions import COLUMNS
from losslab.reporting.style import GROUP_COLOURS, finish

LOSS_COLOURS = [*qualitative.Dark24, *qualitative.Light24]
ROW_HEIGHT = 22
GROUP_SYMBOLS = {"head": "circle", "medium": "diamond", "tail": "square"}


def draw_group_scores(standings: pd.DataFrame) -> go.Figure:
    """Macro-F1 on head, medium and tail labels: a row per loss, a dot with its interval per group.

    Rows are sorted by macro-F1 over all labels.
    """
    figure = go.Figure()
    rows = _sorted_by(standings, "macro_f1")
    for group, colour in GROUP_COLOURS.items():
        own = standings[standings["metric"] == f"{group}/macro_f1"].set_index("loss").loc[rows]
        known = own["low"].notna().any()
        figure.add_scatter(
            x=own["value"].round(4),
            y=rows,
            error_x={
                "array": (own["high"] - own["value"]).round(4),
                "arrayminus": (own["value"] - own["low"]).round(4),
                "visible": bool(known),
                "thickness": 1.2,
                "width": 0,
            },
            name=group,
            mode="markers",
            marker={"color": colour, "size": 9, "symbol": GROUP_SYMBOLS[group]},
            hovertemplate=f"%{{y}}, {group}: %{{x:.3f}}<extra></extra>",
        )
    figure.update_xaxes(title="macro-F1, test", rangemode="tozero")
    return _as_rows(finish(figure, "Macro-F1 by label frequency"), rows)


def draw_ranks(standings: pd.DataFrame) -> go.Figure:
    """The place of every loss that has one, by metric: rows by mean place, the best on top."""
    table = standings.pivot_table(index="loss", columns="metric", values="rank")[list(COLUMNS)]
    values = standings.pivot_table(index="loss", columns="metric", values="value")[list(COLUMNS)]
    rows = table.mean(axis=1).sort_values(kind="stable").index.tolist()
    places = table.loc[rows].astype(int)
    names = [COLUMNS[key] for key in places]
    figure = go.Figure(
        go.Heatmap(
            z=places.to_numpy(),
            x=names,
            y=rows,
            zmin=1,
            zmax=max(len(rows), 2),
            colorscale="Blues",
            reversescale=True,
            customdata=values.loc[rows].round(4).to_numpy(),
            text=places.to_numpy(),
            texttemplate="%{text}",
            textfont={"size": 10},
            xgap=1,
            ygap=1,
            showscale=False,
            hovertemplate="%{y}: place %{z} by %{x} (%{customdata:.3f})<extra></extra>",
        )
    )
    figure.update_xaxes(side="top", tickangle=-45, title=None)
    return _as_rows(finish(figure, "Rank of each loss by each metric, 1 is best"), rows)


def _sorted_by(standings: pd.DataFrame, metric: str) -> list[str]:
    own = standings[standings["metric"] == metric]
    return own.sort_values("rank", kind="stable")["loss"].tolist()


def _as_rows(figure: go.Figure, rows: list[str]) -> go.Figure:
    figure.update_yaxes(
        type="category", categoryorder="array", categoryarray=rows, dtick=1, title=None
    )
    figure.update_yaxes(range=[len(rows) - 0.5, -0.5])
    return figure.update_layout(meta={"rows": rows}, height=170 + ROW_HEIGHT * len(rows))


def loss_colour(loss: str) -> str:
    """A loss's own colour, by its place in ``LOSSES``: the same in every figure."""
    return (
        LOSS_COLOURS[list(LOSSES).index(loss) % len(LOSS_COLOURS)] if loss in LOSSES else "#666666"
    )
