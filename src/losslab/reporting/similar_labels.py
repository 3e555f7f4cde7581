"""F1 of labels that are alike, loss by loss: do losses that spare similar labels tell them apart?"""

from collections.abc import Collection, Sequence

import numpy as np
import pandas as pd
from plotly import graph_objects as go
from scipy import sparse

from losslab.reporting.figures import loss_colour
from losslab.reporting.style import finish, shorten

MOST_LABELS = 40


def draw_similar_labels(
    label_scores: pd.DataFrame,
    losses: Sequence[str],
    label_groups: sparse.sparray,
    first: Collection[str] | None = None,
) -> go.Figure:
    """A point per loss and label, labels of a group side by side.

    Args:
        label_scores: ``label``, ``train`` (documents) and a column of F1 per loss, in the order of
            the rows of ``label_groups`` (labels x groups).
        losses: those to draw; a reader of the page chooses among them.
        first: those of a picture, all unless told; the others wait in the legend.

    Shown are groups of two or more labels, those with the most documents first, as many as
    ``MOST_LABELS`` labels allow.
    """
    groups = similar_groups(label_groups, label_scores["train"].to_numpy())
    places = _axis(groups, label_scores["label"].tolist())
    names = [name for name, _ in places]
    figure = go.Figure()
    for loss in losses:
        values = label_scores[loss].tolist()
        figure.add_scatter(
            x=names,
            y=[None if label is None else values[label] for _, label in places],
            mode="markers+lines",
            name=loss,
            visible=True if first is None or loss in first else "legendonly",
            meta={"loss": loss, "role": "labels"},
            line={"color": loss_colour(loss), "width": 1},
            marker={"color": loss_colour(loss), "size": 7},
            hovertemplate=f"%{{x}}, {loss}: %{{y:.3f}}<extra></extra>",
        )
    figure.update_xaxes(title="labels by group of similar ones", tickangle=-60, type="category")
    figure.update_xaxes(tickvals=names, ticktext=[shorten(name) for name in names])
    figure.update_yaxes(title="F1, test", range=[0, 1])
    return finish(figure, "F1 of similar labels").update_layout(height=560)


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
        room = MOST_LABELS - len(seen)
        if len(fresh) > 1 and room > 1:
            shown.append(fresh[:room])
            seen.update(fresh[:room])
    return shown


def _axis(groups: list[list[int]], labels: Sequence[str]) -> list[tuple[str, int | None]]:
    """Names along the axis with the label each stands for; None where a group ends."""
    places: list[tuple[str, int | None]] = []
    for number, group in enumerate(groups):
        if number:
            places.append((" " * number, None))
        places += [(labels[label], label) for label in group]
    return places
