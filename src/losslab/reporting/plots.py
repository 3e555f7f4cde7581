"""The plots of a report: which exist, where the page shows them, and what all share."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from html import escape
from typing import TYPE_CHECKING

from losslab.baselines import METHODS

if TYPE_CHECKING:
    from plotly import graph_objects as go


@dataclass(frozen=True)
class Plot:
    """Title, caption and size of a plot on the page; ``topic`` is the heading it stands under.

    ``one_loss``: it shows one loss at a time, which the reader chooses. ``absent`` says of losses
    that are not in it why.
    """

    topic: str
    title: str
    caption: str
    size: str = ""
    one_loss: bool = False
    absent: str = "whose scores are not probabilities"


NO_EPOCHS = "which are not trained in epochs"
RESULT_PLOTS = {
    "group_scores": Plot(
        "Quality",
        "Head, medium and tail labels",
        "Macro-F1 by label frequency, sorted by overall macro-F1.",
    ),
    "ranks": Plot("Quality", "Ranks", "Rank by each metric, 1 is best; sorted by mean rank."),
    "label_scatter": Plot(
        "By label",
        "Two losses, label by label",
        "F1 of each label. Labels above the diagonal do better with the loss on the y-axis.",
        "square",
    ),
    "precision_recall": Plot(
        "By label",
        "Precision and recall",
        "Micro-averaged, over all thresholds. The dot is the operating point of the decision rule.",
        "square",
    ),
    "similar_labels": Plot(
        "By label",
        "Similar labels",
        "F1 within groups of similar labels. mask_label, mask_element and kwls treat similar labels "
        "of a document more leniently.",
        "wide",
    ),
    "confused_labels": Plot(
        "By label",
        "Labels confused whatever the loss",
        "The pairs of labels confused most, summed over losses: test documents in which the first is "
        "missed and the second wrongly predicted, mean over seeds. Darker: more documents.",
        "wide",
    ),
    "posteriors": Plot(
        "By label",
        "Posterior by label",
        "What the loss has sampled for each label: median and interval of the later half of its "
        "chain, all seeds. Grey: the prior; an interval as wide as it has learned nothing of the label.",
        "wide",
        one_loss=True,
    ),
    "learning_time": Plot(
        "Training",
        "Learning curve by time",
        "Best validation macro-F1 so far, by training time.",
        absent=NO_EPOCHS,
    ),
    "learning_curves": Plot(
        "Training",
        "Learning curve by epoch",
        "Validation macro-F1 by epoch, mean over seeds.",
        absent=NO_EPOCHS,
    ),
    "training_curves": Plot(
        "Training",
        "Training and validation loss",
        "Training loss (solid) and validation loss (dotted), relative to the first epoch: losses "
        "have no common scale.",
        "wide",
        absent=NO_EPOCHS,
    ),
    "hard_and_soft_loss": Plot(
        "Training",
        "Hard and soft loss",
        "The two terms of a training loss with soft targets, and validation subset accuracy. A dashed "
        "line marks the step that soft targets start at, if not the first.",
        "wide",
    ),
    "sorted_scores": Plot(
        "Scores",
        "Sorted scores",
        "Score by rank within a document: median and quartiles over documents. A steep drop makes "
        "the threshold easy.",
    ),
    "example_scores": Plot(
        "Scores",
        "Sorted scores, document by document",
        "A grey line per document, with median and quartiles over all. The dotted line marks the "
        "median's knee, which tells a threshold by eye.",
        one_loss=True,
    ),
    "reliability": Plot(
        "Scores",
        "Reliability",
        "Share of true labels by score, all seeds pooled; calibrated scores lie on the diagonal. In "
        "brackets the expected calibration error.",
        "square",
    ),
}
"""Plots of results, in the order of the page."""
CORPUS_PLOTS = {
    "long_tail": Plot("Corpus", "Label frequencies", "Training documents per label.", "wide"),
    "cooccurrence_map": Plot(
        "Corpus",
        "Label co-occurrence",
        "Conditional probability p(column | row) among training documents; of more than a hundred "
        "labels, the most frequent.",
        "wide",
    ),
    "labels_per_document": Plot("Corpus", "Labels per document", "Share of documents, by split."),
    "document_lengths": Plot(
        "Corpus",
        "Document lengths",
        "Share of documents by number of words, up to the 99th percentile.",
    ),
}
"""Plots of the corpus, in the order of the page."""
PLOTS = {**RESULT_PLOTS, **CORPUS_PLOTS}
"""Every plot there is, by the name of its dataset."""

GROUP_COLOURS = {"head": "#2a7fbf", "medium": "#dd9a12", "tail": "#c2417c"}
SPLIT_COLOURS = {"train": "#3b6ea5", "validation": "#d9a441", "test": "#7d5ba6"}
MAX_LEGEND_ABOVE = 8  # entries of a legend that fit above a plot; more stand beside it


def apply_layout(figure: "go.Figure", title: str) -> "go.Figure":
    """Set title, legend, margins and template."""
    above = {"orientation": "h", "y": 1.08, "x": 1, "xanchor": "right"}
    return figure.update_layout(
        title=title,
        template="plotly_white",
        legend=above if len(figure.data) <= MAX_LEGEND_ABOVE else {"orientation": "v"},
        margin={"l": 60, "r": 20, "t": 80, "b": 60},
    )


def shorten(name: str, most: int = 32) -> str:
    """A label's name as it fits an axis.

    >>> shorten("Impact: Execute Unauthorized Code or Commands")
    'Impact: Execute Unauthorized Co…'
    """
    return name if len(name) <= most else f"{name[: most - 1]}…"


def literal(text: str) -> str:
    """A text from data as Plotly shows it: links and tags in it stay text.

    >>> literal('<a href="x">R&D</a>')
    '&lt;a href="x"&gt;R&amp;D&lt;/a&gt;'
    """
    return escape(text, quote=False)


def named_axis(names: Iterable[str]) -> dict[str, list[str]]:
    """Ticks with shortened names, at the categories of whole ones."""
    shown = list(names)
    return {
        "tickvals": [literal(name) for name in shown],
        "ticktext": [literal(shorten(name)) for name in shown],
    }


def loss_colour(loss: str) -> str:
    """A loss's own colour, by its position in ``METHODS``: the same in every plot."""
    palette = _palette()
    return palette[list(METHODS).index(loss) % len(palette)] if loss in METHODS else "#666666"


@cache
def _palette() -> tuple[str, ...]:
    from plotly.colors import qualitative

    return (*qualitative.Dark24, *qualitative.Light24)
