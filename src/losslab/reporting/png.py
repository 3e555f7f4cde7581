"""Pictures of figures where no browser is at hand: a Plotly figure's traces as PNG."""

from collections.abc import Sequence
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from plotly import graph_objects as go

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_NAMES = 8  # categories whose names fit side by side; more are turned


def to_png(figure: go.Figure, *, dpi: int = 110) -> bytes:
    """Draw the bars, lines, points or heat map of ``figure`` with its titles and legend."""
    from matplotlib.figure import Figure

    maps = [trace for trace in figure.data if trace.type == "heatmap"]
    size = (9, 8) if maps else (9, 5)
    canvas = Figure(figsize=size, layout="constrained", dpi=dpi)
    axes = canvas.add_subplot(title=figure.layout.title.text)
    axes.set(xlabel=figure.layout.xaxis.title.text, ylabel=figure.layout.yaxis.title.text)
    if maps:
        _draw_map(canvas, axes, maps[0], figure.layout.xaxis.ticktext)
    else:
        _draw_bars(axes, [trace for trace in figure.data if trace.type == "bar"])
        _draw_lines(axes, [trace for trace in figure.data if trace.type == "scatter"])
        _frame(axes, figure)
    buffer = BytesIO()
    canvas.savefig(buffer, format="png")
    return buffer.getvalue()


def _frame(axes: "Axes", figure: go.Figure) -> None:
    names = figure.layout.xaxis.ticktext
    if names:
        turned = {"rotation": 90, "fontsize": 7} if len(names) > MOST_NAMES else {}
        axes.set_xticks(range(len(names)), names, **turned)
    if figure.layout.yaxis.type == "log":
        axes.set_yscale("log")
    if figure.layout.yaxis.range:
        axes.set_ylim(figure.layout.yaxis.range)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(ncols=min(len(figure.data), 6), fontsize="small")


def _draw_lines(axes: "Axes", lines: list[go.Scatter]) -> None:
    for trace in lines:
        points = trace.mode == "markers"
        axes.plot(
            trace.x,
            trace.y,
            linestyle="none" if points else "solid",
            marker="o" if points else None,
            markersize=4,
            label="_nolegend_" if trace.showlegend is False else trace.name,
            color=trace.marker.color if points else trace.line.color,
        )


def _draw_map(canvas: "Figure", axes: "Axes", trace: go.Heatmap, names: Sequence[str]) -> None:
    """Cells with a colour bar that tells their true values."""
    drawn = axes.imshow(trace.z, vmin=trace.zmin, vmax=trace.zmax, cmap="Blues", aspect="auto")
    axes.set_xticks(range(len(names)), names, rotation=90, fontsize=5)
    axes.set_yticks(range(len(names)), names, fontsize=5)
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
