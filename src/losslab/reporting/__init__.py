"""Showing results: the comparison table, figures, the report page."""

from losslab.reporting.figures import (
    draw_group_scores,
    draw_label_distribution,
    draw_learning_curves,
)
from losslab.reporting.page import render_page
from losslab.reporting.table import compare, to_markdown

__all__ = [
    "compare",
    "draw_group_scores",
    "draw_label_distribution",
    "draw_learning_curves",
    "render_page",
    "to_markdown",
]
