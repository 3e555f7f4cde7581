"""Showing results: the comparison table, figures, the report page."""

from losslab.reporting.corpus_figures import (
    draw_cooccurrence,
    draw_document_lengths,
    draw_labels_per_document,
    draw_long_tail,
)
from losslab.reporting.decisions import tabulate_rules
from losslab.reporting.figures import draw_group_scores, draw_ranks
from losslab.reporting.page import CorpusPart, ResultPart, RunPart, render_page
from losslab.reporting.rows import loss_facts
from losslab.reporting.score_figures import (
    draw_label_scatter,
    draw_precision_recall,
    draw_reliability,
    draw_sorted_scores,
    tabulate_label_scores,
)
from losslab.reporting.standings import stand
from losslab.reporting.table import compare, to_markdown, unlike
from losslab.reporting.training_figures import (
    draw_learning_curves,
    draw_learning_time,
    draw_training_curves,
    gather_histories,
)

__all__ = [
    "CorpusPart",
    "ResultPart",
    "RunPart",
    "compare",
    "draw_cooccurrence",
    "draw_document_lengths",
    "draw_group_scores",
    "draw_label_scatter",
    "draw_labels_per_document",
    "draw_learning_curves",
    "draw_learning_time",
    "draw_long_tail",
    "draw_precision_recall",
    "draw_ranks",
    "draw_reliability",
    "draw_sorted_scores",
    "draw_training_curves",
    "gather_histories",
    "loss_facts",
    "render_page",
    "stand",
    "tabulate_label_scores",
    "tabulate_rules",
    "to_markdown",
    "unlike",
]
