"""From the results of every loss to a table, figures and the page."""

from typing import Any

import numpy as np
import pandas as pd
from plotly import graph_objects as go
from scipy import sparse

from losslab.corpora import SPLITS
from losslab.corpora.summary import count_words, tell
from losslab.losses import LOSSES
from losslab.reporting import (
    CorpusPart,
    compare,
    draw_cooccurrence,
    draw_document_lengths,
    draw_group_scores,
    draw_labels_per_document,
    draw_learning_curves,
    draw_long_tail,
    render_page,
)


def compare_losses(**metrics: dict[str, Any]) -> pd.DataFrame:
    """The comparison table, a row per loss."""
    return compare(metrics)


def draw_tail(label_table: pd.DataFrame) -> go.Figure:
    """The long-tail curve."""
    return draw_long_tail(label_table)


def draw_cooccurrence_map(
    label_cooccurrence: sparse.csr_array, label_space: list[str]
) -> go.Figure:
    """Which labels come together."""
    return draw_cooccurrence(label_cooccurrence, label_space)


def draw_counts(documents: pd.DataFrame, targets: sparse.csr_array) -> tuple[go.Figure, go.Figure]:
    """Labels per document, and document lengths."""
    labels, words = np.diff(targets.indptr), documents["text"].map(count_words).to_numpy()
    rows = {split: (documents["split"] == split).to_numpy() for split in SPLITS}
    return (
        draw_labels_per_document({split: labels[part] for split, part in rows.items()}),
        draw_document_lengths({split: words[part] for split, part in rows.items()}),
    )


def draw_groups(**metrics: dict[str, Any]) -> go.Figure:
    """Macro-F1 by frequency group and loss."""
    return draw_group_scores(metrics)


def draw_curves(**histories: pd.DataFrame) -> go.Figure:
    """Validation macro-F1 by epoch and loss."""
    return draw_learning_curves(histories)


def render_report(
    comparison: pd.DataFrame,
    group_scores: go.Figure,
    learning_curves: go.Figure,
    label_statistics: dict[str, Any],
    corpus_table: pd.DataFrame,
    corpus_summary: dict[str, Any],
    dataset: str,
    recipe: str,
    **corpus_figures: go.Figure,
) -> str:
    """The report page."""
    return render_page(
        comparison,
        {"group_scores": group_scores, "learning_curves": learning_curves},
        dataset=dataset,
        recipe=recipe,
        statistics=label_statistics,
        titles={name: spec.title for name, spec in LOSSES.items()},
        corpus=CorpusPart(corpus_table, tell(corpus_summary), corpus_figures),
    )
