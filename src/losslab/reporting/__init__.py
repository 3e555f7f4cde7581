"""Showing results: the comparison table, figures, the report page."""

from losslab.reporting.corpus_figures import (
    draw_cooccurrence,
    draw_document_lengths,
    draw_labels_per_document,
    draw_long_tail,
)
from losslab.reporting.figures import draw_group_scores, draw_learning_curves
from losslab.reporting.page import CorpusPart, render_page
from losslab.reporting.table import compare, to_markdown

__all__ = [
    "CorpusPart",
    "compare",
    "draw_cooccurrence",
    "draw_document_lengths",
    "draw_group_scores",
    "draw_labels_per_document",
    "draw_learning_curves",
    "draw_long_tail",
    "render_page",
    "to_markdown",
]
