"""Plots of a corpus: label frequencies, co-occurrence, labels per document, document lengths."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from plotly import graph_objects as go
from scipy import sparse

from losslab.reporting.plots import GROUP_COLOURS, SPLIT_COLOURS, apply_layout, literal, named_axis

MAX_LABELS = 60  # names that stay readable on an axis
MAX_COOCCURRING = 100  # labels of the co-occurrence map, which grows with them
ROW_HEIGHT = 12  # pixels of a label of the map: its name stays readable
MAP_HEIGHT = 800  # of a map of few labels
MAX_POINTS = 1500  # of a curve; more only make the page larger
MAX_PER_DOCUMENT = 30
LENGTH_BINS = 25
TITLE_STANDOFF = 16  # pixels between the names of labels and the title of their axis


def draw_long_tail(label_table: pd.DataFrame) -> go.Figure:
    """Training documents per label, most frequent first, coloured by frequency group.

    The axis is logarithmic where the most frequent label outnumbers the rarest a hundredfold.
    """
    named = len(label_table) <= MAX_LABELS
    names = label_table["label"].map(literal)
    positions = names if named else label_table.index + 1
    points = label_table.assign(name=names, position=positions).iloc[_thin(len(label_table))]
    figure = go.Figure()
    figure.add_scatter(
        x=points["position"], y=points["train"], line={"color": "#98a2b3"}, hoverinfo="skip"
    )
    figure.update_traces(mode="lines", showlegend=False)
    for group, colour in GROUP_COLOURS.items():
        part = points[points["group"] == group]
        figure.add_scatter(
            x=part["position"], y=part["train"], name=group, mode="markers", hovertext=part["name"]
        )
        figure.data[-1].marker.color = colour
    present = label_table["train"][label_table["train"] > 0]
    steep = len(present) and present.max() > 100 * present.min()
    figure.update_yaxes(title="training documents", type="log" if steep else "linear")
    if named:
        figure.update_xaxes(**named_axis(label_table["label"]), title="label", tickangle=-60)
    else:
        figure.update_xaxes(title=f"{len(label_table):,} labels by rank")
    return apply_layout(figure, "Label frequencies: training documents per label")


def _thin(points: int) -> np.ndarray:
    """Positions along a long curve, dense at its head; all of them where there are few."""
    if points <= MAX_POINTS:
        return np.arange(points)
    return np.unique(np.geomspace(1, points, MAX_POINTS).round().astype(int)) - 1


def draw_cooccurrence(counts: sparse.csr_array, labels: Sequence[str]) -> go.Figure:
    """Conditional probability of the column's label given the row's, among training documents.

    Up to ``MAX_COOCCURRING`` labels are all shown, where they have training documents. Of more, the
    most frequent are, coloured by the fourth root, as nearly all of their probabilities are small.
    """
    frequencies = counts.diagonal()
    order = np.argsort(-frequencies, kind="stable")[:MAX_COOCCURRING]
    shown = order[frequencies[order] > 0]
    probability = counts[shown][:, shown].toarray() / frequencies[shown][:, None]
    power = 1 if len(labels) <= MAX_COOCCURRING else 0.25
    names = [labels[label] for label in shown]
    ticks = np.array([0, 0.25, 0.5, 0.75, 1] if power == 1 else [0, 0.001, 0.01, 0.1, 0.5, 1])
    figure = go.Figure(
        go.Heatmap(
            z=np.round(probability**power, 4),
            customdata=np.round(probability, 4),
            x=[literal(name) for name in names],
            y=[literal(name) for name in names],
            zmin=0,
            zmax=1,
            colorscale="Blues",
            colorbar={"tickvals": ticks**power, "ticktext": [f"{tick:g}" for tick in ticks]},
            hovertemplate="p(%{x} | %{y}) = %{customdata:.3f}<extra></extra>",
        )
    )
    axis = {**named_axis(names), "tickfont_size": 9}
    figure.update_xaxes(**axis, tickangle=-90, title={"text": "label", "standoff": TITLE_STANDOFF})
    figure.update_yaxes(
        **axis, autorange="reversed", title={"text": "given", "standoff": TITLE_STANDOFF}
    )
    every = "every label" if power == 1 else f"the {len(names)} most frequent labels"
    height = max(MAP_HEIGHT, 200 + ROW_HEIGHT * len(names))
    figure.update_layout(height=height, meta={"height": height})
    return apply_layout(figure, f"Label co-occurrence: p(column | row) of {every}")


def draw_labels_per_document(counts: Mapping[str, np.ndarray]) -> go.Figure:
    """The share of each split's documents by their number of labels."""
    most = max((int(part.max()) for part in counts.values() if len(part)), default=0)
    last = min(most, MAX_PER_DOCUMENT)
    names = [*map(str, range(last)), f"{last} or more" if most > last else str(last)]
    figure = go.Figure()
    for split, part in counts.items():
        shares = np.bincount(np.minimum(part, last), minlength=last + 1) / max(len(part), 1)
        figure.add_bar(x=names, y=shares, name=split, marker_color=SPLIT_COLOURS[split])
    figure.update_xaxes(title="labels", type="category")
    figure.update_yaxes(title="share of documents", tickformat=".0%")
    return apply_layout(figure, "Labels per document")


def draw_document_lengths(words: Mapping[str, np.ndarray]) -> go.Figure:
    """The share of each split's documents by their length; the longest 1 % are left out.

    Bins are whole numbers of words wide: others would hold one length more or less than the next.
    """
    pooled = np.concatenate(list(words.values()))
    longest = max(int(np.quantile(pooled, 0.99)), 1) if len(pooled) else 1
    width = -(-(longest + 1) // LENGTH_BINS)
    bins = np.arange(0, longest + width + 1, width) - 0.5
    middles = (bins[1:] + bins[:-1]) / 2
    figure = go.Figure()
    for split, part in words.items():
        shares = np.histogram(part[part <= longest], bins)[0] / max(len(part), 1)
        figure.add_scatter(
            x=middles, y=shares, name=split, mode="lines", line={"color": SPLIT_COLOURS[split]}
        )
    figure.update_xaxes(title="words")
    figure.update_yaxes(title="share of documents", tickformat=".0%", rangemode="tozero")
    return apply_layout(figure, "Document lengths, up to the 99th percentile")
