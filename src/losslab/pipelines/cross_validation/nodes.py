"""The results of all folds to a comparison over folds, a plot and a page."""

import logging
from typing import Any

import pandas as pd
from plotly import graph_objects as go

from losslab.data.corpus import Modality
from losslab.errors import IncomparableError
from losslab.evaluation import compare_folds as compare
from losslab.evaluation import fold_marks, refuse_mixed_folds, shared_conditions, tabulate_folds
from losslab.parameters import ReportSettings, SplitSettings, losses_for_task
from losslab.reporting import draw_fold_scores
from losslab.reporting.cross_validation_page import (
    FoldRunPart,
    missing_folds,
    render_cross_validation,
)
from losslab.reporting.definitions import METRICS

logger = logging.getLogger(__name__)


def compare_folds(
    fold_metrics: dict[str, dict[int, Any]],
    split: SplitSettings,
    losses: list[str] | None,
    task: str,
    report: ReportSettings,
    modality: Modality = "text",
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, Any]]:
    """Metrics by fold; mean, spread, difference to the reference and p over folds; conditions.

    Of the chosen losses, those without a result in a fold are named.
    """
    if split.folds is None:
        raise IncomparableError(
            "no folds to compare: kedro cross-validate trains and compares them; "
            "--params=split.folds=4 names a finished cross-validation"
        )
    results = {
        loss: fold_metrics.get(loss, {}) for loss in losses or losses_for_task(task, modality)
    }
    if not results.get(report.reference):
        raise IncomparableError(
            f"the reference {report.reference} has no result in any of {split.folds} folds: run "
            "kedro cross-validate again, or set report.reference to another loss"
        )
    refuse_mixed_folds(results, split.folds)
    any_fold = next(iter(results[report.reference].values()))
    means = {
        loss: {fold: result["mean"] for fold, result in by_fold.items()}
        for loss, by_fold in results.items()
    }
    marks = fold_marks(results)
    table = compare(means, METRICS, reference=report.reference, folds=split.folds, marks=marks)
    for loss, folds in missing_folds(table).items():
        logger.warning("%s: no result of fold %s", loss, folds)
    return tabulate_folds(means, METRICS), table, shared_conditions(any_fold["conditions"])


def draw_folds(fold_scores: pd.DataFrame, fold_comparison: pd.DataFrame) -> go.Figure:
    """Macro-F1 of every loss and fold."""
    return draw_fold_scores(fold_scores, fold_comparison)


def render_page(
    fold_comparison: pd.DataFrame,
    figure: go.Figure,
    conditions: dict[str, Any],
    run_description: dict[str, Any],
    report: ReportSettings,
) -> str:
    """The page of the cross-validation; what it is of is taken from the recorded conditions."""
    run = FoldRunPart(
        dataset=conditions["dataset"],
        recipe=conditions["recipe"]["name"],
        folds=conditions["split"]["folds"],
        seeds=conditions["seeds"],
        reference=report.reference,
        **run_description,
    )
    return render_cross_validation(fold_comparison, figure, run)
