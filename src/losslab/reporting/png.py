"""Pictures of figures where no browser is at hand: a Plotly figure's traces as PNG."""

from collections.abc import Callable
from io import BytesIO
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from plotly import graph_objects as go

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_NAMES = 8  # categories whose names fit side by side; more are turned
MOST_IN_LEGEND = 12  # entries that fit into a figure; more stand beside it
ONE_AT_A_TIME = Lock()  # matplotlib's settings are those of the process, nodes may run in threads
DASHES = {"dot": "dotted", "dash": "dashed", "dashdot": "dashdot"}
MARKERS = {"circle": "o", "diamond": "D", "square": "s"}


def to_png(figure: go.Figure, *, dpi: int = 110) -> bytes:
    """Draw the bars, lines, points or heat map of ``figure`` with its titles and legend.

    Traces that wait in the legend (``visible="legendonly"``) are left out.
    """
    from matplotlib import rc_context

    with ONE_AT_A_TIME, rc_context({"text.parse_math": False}):  # a label's $ is no formula
        canvas = to_canvas(figure, dpi)
        buffer = BytesIO()
        canvas.savefig(buffer, format="png")
    return buffer.getvalue()


def to_canvas(figure: go.Figure, dpi: int) -> "Figure":
    """The figure as one of matplotlib."""
    from matplotlib.figure import Figure

    maps = [trace for trace in figure.data if trace.type == "heatmap"]
    canvas = Figure(figsize=_size(figure, bool(maps)), layout="constrained", dpi=dpi)
    axes = canvas.add_subplot(title=figure.layout.title.text)
    axes.set(xlabel=figure.layout.xaxis.title.text, ylabel=figure.layout.yaxis.title.text)
    if maps:
        _draw_map(canvas, axes, maps[0], figure)
    else:
        _draw_bars(axes, [trace for trace in figure.data if trace.type == "bar"])
        for trace in figure.data:
            if trace.type == "scatter" and trace.visible != "legendonly":
                _draw_line(axes, trace)
        _frame(axes, figure)
    return canvas


def _rows(figure: go.Figure) -> list[str]:
    """The losses whose rows a figure has, if it has any."""
    meta = figure.layout.meta
    return list(meta["rows"]) if isinstance(meta, dict) and "rows" in meta else []


def _size(figure: go.Figure, map_: bool) -> tuple[float, float]:
    rows = _rows(figure)
    if rows:
        return 9, 2.2 + 0.24 * len(rows)
    return (9, 8) if map_ else (9, 5)


def _frame(axes: "Axes", figure: go.Figure) -> None:
    names = figure.layout.xaxis.ticktext
    if names:
        turned = {"rotation": 90, "fontsize": 7} if len(names) > MOST_NAMES else {}
        axes.set_xticks(range(len(names)), names, **turned)
    if figure.layout.yaxis.type == "log":
        axes.set_yscale("log")
    _set_range(figure.layout.xaxis, axes.get_xlim, axes.set_xlim)
    _set_range(figure.layout.yaxis, axes.get_ylim, axes.set_ylim)
    for shape in figure.layout.shapes:
        axes.plot([shape.x0, shape.x1], [shape.y0, shape.y1], ":", color=shape.line.color)
    axes.grid(axis="x" if _rows(figure) else "y", alpha=0.3)
    shown = axes.get_legend_handles_labels()[1]
    if len(shown) > MOST_IN_LEGEND:
        axes.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=6, ncols=1)
    elif shown:  # rows of losses leave no room inside
        below = {"loc": "upper right", "bbox_to_anchor": (1, -0.03)} if _rows(figure) else {}
        axes.legend(ncols=min(len(shown), 6), fontsize="small", **below)


def _set_range(axis: Any, get: Callable[[], tuple[float, float]], put: Callable[..., Any]) -> None:
    """An axis from end to end as given, or from 0 on."""
    if axis.range:
        put(axis.range)
    elif axis.rangemode == "tozero":
        low, high = get()
        put(min(low, 0), high)


def _draw_line(axes: "Axes", trace: go.Scatter) -> None:
    """A line, points, or a band between two lines, with intervals along x where there are any."""
    if trace.fill == "toself":
        axes.fill(trace.x, trace.y, color=trace.line.color, alpha=trace.opacity, linewidth=0)
        return
    points, colour = trace.mode == "markers", trace.marker.color
    label = "_nolegend_" if trace.showlegend is False else trace.name
    style: dict[str, Any] = {
        "linestyle": "none" if points else DASHES.get(trace.line.dash, "solid"),
        "marker": MARKERS.get(trace.marker.symbol, "o") if "markers" in trace.mode else None,
        "markersize": 4,
        "drawstyle": "steps-post" if trace.line.shape == "hv" else "default",
        "color": colour if points else trace.line.color,
    }
    if trace.error_x.visible:
        reach = [trace.error_x.arrayminus, trace.error_x.array]
        axes.errorbar(trace.x, trace.y, xerr=reach, label=label, **style, elinewidth=1)
    else:
        axes.plot(trace.x, trace.y, label=label, **style)


def _draw_map(canvas: "Figure", axes: "Axes", trace: go.Heatmap, figure: go.Figure) -> None:
    """Cells that tell their values by a number, or by a colour bar."""
    across = figure.layout.xaxis.ticktext or trace.x
    down = figure.layout.yaxis.ticktext or trace.y
    shades = "Blues_r" if trace.reversescale else "Blues"
    drawn = axes.imshow(trace.z, vmin=trace.zmin, vmax=trace.zmax, cmap=shades, aspect="auto")
    small = {"fontsize": 5 if len(across) > 2 * MOST_NAMES else 8}
    axes.set_xticks(range(len(across)), across, rotation=90, **small)
    axes.set_yticks(range(len(down)), down, **small)
    if trace.texttemplate:
        middle = (trace.zmin + trace.zmax) / 2
        for (row, column), value in np.ndenumerate(np.asarray(trace.z)):
            dark = (value < middle) == bool(trace.reversescale)
            colour = "white" if dark else "black"
            told = axes.text(column, row, value, ha="center", va="center", fontsize=7, color=colour)
            told.set_in_layout(False)  # within its cell: measuring hundreds of them takes long
    else:
        bar = canvas.colorbar(drawn, ax=axes)
        bar.set_ticks(list(trace.colorbar.tickvals), labels=list(trace.colorbar.ticktext))


def _draw_bars(axes: "Axes", bars: list[go.Bar]) -> None:
    """Bars that share categories stand side by side; those that do not follow one another."""
    categories = list(dict.fromkeys(name for trace in bars for name in trace.x))
    shared = any(set(a.x) & set(b.x) for a, b in pairwise(bars))
    width = 0.8 / len(bars) if shared else 0.8
    for index, trace in enumerate(bars):
        shift = (index - (len(bars) - 1) / 2) * width if shared else 0
        places = np.array([categories.index(name) for name in trace.x]) + shift
        errors = trace.error_y.array if trace.error_y.visible else None
        axes.bar(places, trace.y, width, yerr=errors, label=trace.name, color=trace.marker.color)
    if bars:
        tilt = 90 if len(categories) > MOST_NAMES else 0
        axes.set_xticks(
            range(len(categories)), categories, rotation=tilt, fontsize=7 if tilt else 10
        )
