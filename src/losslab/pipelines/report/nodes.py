"""From the results of every loss to a table, figures and the page."""

from typing import Any

import pandas as pd
from plotly import graph_objects as go

from losslab.losses import LOSSES
from losslab.reporting import (
    compare,
    draw_group_scores,
    draw_label_distribution,
    draw_learning_curves,
    render_page,
)


def compare_losses(**metrics: dict[str, Any]) -> pd.DataFrame:
    """The comparison table, a row per loss."""
    return compare(metrics)


def draw_labels(label_table: pd.DataFrame) -> go.Figure:
    """The label distribution."""
    return draw_label_distribution(label_table)


def draw_groups(**metrics: dict[str, Any]) -> go.Figure:
    """Macro-F1 by frequency group and loss."""
    return draw_group_scores(metrics)


def draw_curves(**histories: pd.DataFrame) -> go.Figure:
    """Validation macro-F1 by epoch and loss."""
    return draw_learning_curves(histories)


def render_report(
    comparison: pd.DataFrame,
    label_distribution: go.Figure,
    group_scores: go.Figure,
    learning_curves: go.Figure,
    label_statistics: dict[str, Any],
    dataset: str,
    recipe: str,
) -> str:
    """The report page."""
    figures = {
        "group_scores": group_scores,
        "learning_curves": learning_curves,
        "label_distribution": label_distribution,
    }
    return render_page(
        comparison,
        figures,
        dataset=dataset,
        recipe=recipe,
        statistics=label_statistics,
        titles={name: spec.title for name, spec in LOSSES.items()},
    )
