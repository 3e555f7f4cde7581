"""Reporting: the comparison table, plots, the page, the papers' tables."""

from losslab.reporting.comparison import (
    build_standings,
    comparison_table,
    incomparable_losses,
    marked_losses,
    to_markdown,
    untested_losses,
)
from losslab.reporting.corpus_plots import (
    draw_cooccurrence,
    draw_document_lengths,
    draw_labels_per_document,
    draw_long_tail,
)
from losslab.reporting.cross_validation_page import draw_fold_scores, folds_to_markdown
from losslab.reporting.diagnosis import diagnose, diagnosis_lines
from losslab.reporting.page_sections import loss_facts, tabulate_rules
from losslab.reporting.plots import CORPUS_PLOTS, PLOTS, RESULT_PLOTS, loss_colour
from losslab.reporting.report_page import CorpusPart, ResultPart, RunPart, render_page
from losslab.reporting.result_plots import (
    draw_confusions,
    draw_group_scores,
    draw_posteriors,
    draw_ranks,
    draw_similar_labels,
)
from losslab.reporting.retrieval_page import retrieval_to_markdown
from losslab.reporting.score_plots import (
    draw_example_scores,
    draw_label_scatter,
    draw_precision_recall,
    draw_reliability,
    draw_sorted_scores,
    tabulate_label_scores,
)
from losslab.reporting.search_page import search_to_markdown
from losslab.reporting.sweep_page import sweep_to_markdown
from losslab.reporting.thumbnails import add_thumbnails
from losslab.reporting.training_plots import (
    draw_hard_and_soft_loss,
    draw_learning_curves,
    draw_learning_time,
    draw_training_curves,
    gather_histories,
)

__all__ = [
    "CORPUS_PLOTS",
    "PLOTS",
    "RESULT_PLOTS",
    "CorpusPart",
    "ResultPart",
    "RunPart",
    "add_thumbnails",
    "build_standings",
    "comparison_table",
    "diagnose",
    "diagnosis_lines",
    "draw_confusions",
    "draw_cooccurrence",
    "draw_document_lengths",
    "draw_example_scores",
    "draw_fold_scores",
    "draw_group_scores",
    "draw_hard_and_soft_loss",
    "draw_label_scatter",
    "draw_labels_per_document",
    "draw_learning_curves",
    "draw_learning_time",
    "draw_long_tail",
    "draw_posteriors",
    "draw_precision_recall",
    "draw_ranks",
    "draw_reliability",
    "draw_similar_labels",
    "draw_sorted_scores",
    "draw_training_curves",
    "folds_to_markdown",
    "gather_histories",
    "incomparable_losses",
    "loss_colour",
    "loss_facts",
    "marked_losses",
    "render_page",
    "retrieval_to_markdown",
    "search_to_markdown",
    "sweep_to_markdown",
    "tabulate_label_scores",
    "tabulate_rules",
    "to_markdown",
    "untested_losses",
]
