"""What all figures share: colours and a frame."""

from plotly import graph_objects as go

GROUP_COLOURS = {"head": "#2a7fbf", "medium": "#dd9a12", "tail": "#c2417c"}
SPLIT_COLOURS = {"train": "#3b6ea5", "validation": "#d9a441", "test": "#7d5ba6"}
MOST_ABOVE = 8  # entries of a legend that fit above a figure; more stand beside it


def finish(figure: go.Figure, title: str) -> go.Figure:
    """Give a figure its title, legend and margins."""
    above = {"orientation": "h", "y": 1.08, "x": 1, "xanchor": "right"}
    return figure.update_layout(
        title=title,
        template="plotly_white",
        legend=above if len(figure.data) <= MOST_ABOVE else {"orientation": "v"},
        margin={"l": 60, "r": 20, "t": 80, "b": 60},
    )


def shorten(name: str, most: int = 32) -> str:
    """A label's name as it fits an axis.

    >>> shorten("Impact: Execute Unauthorized Code or Commands")
    'Impact: Execute Unauthorized Co…'
    """
    return name if len(name) <= most else f"{name[: most - 1]}…"
