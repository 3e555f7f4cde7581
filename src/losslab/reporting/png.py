"""Pictures of figures where no browser is at hand: bars and lines of a Plotly figure as PNG."""

from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from plotly import graph_objects as go

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def to_png(figure: go.Figure, *, dpi: int = 110) -> bytes:
    """Draw the bar and line traces of ``figure`` with its titles and legend."""
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(9, 5), layout="constrained", dpi=dpi)
    axes = canvas.add_subplot(title=figure.layout.title.text)
    bars = [trace for trace in figure.data if trace.type == "bar"]
    _draw_bars(axes, bars)
    for trace in figure.data:
        if trace.type == "scatter":
            axes.plot(trace.x, trace.y, label=trace.name, color=trace.line.color)
    axes.set(xlabel=figure.layout.xaxis.title.text, ylabel=figure.layout.yaxis.title.text)
    if figure.layout.yaxis.range:
        axes.set_ylim(figure.layout.yaxis.range)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(ncols=min(len(figure.data), 6), fontsize="small")
    buffer = BytesIO()
    canvas.savefig(buffer, format="png")
    return buffer.getvalue()


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
        tilt = 90 if len(categories) > 8 else 0
        axes.set_xticks(
            range(len(categories)), categories, rotation=tilt, fontsize=7 if tilt else 10
        )
