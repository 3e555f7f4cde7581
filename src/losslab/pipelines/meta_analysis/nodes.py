"""Results of earlier runs to comparisons over folds and over datasets."""

import logging
from pathlib import Path

import pandas as pd

from losslab.evaluation import combine_comparisons, compare_folds
from losslab.parameters import ReportSettings
from losslab.reporting.definitions import METRICS
from losslab.reporting.saved_results import saved_comparisons, saved_folds

logger = logging.getLogger(__name__)
FOLDS = ("metric", "loss", "mean", "std", "folds", "difference", "p", "p_holm")
DATASETS = ("loss", "metric", "mean_rank", "times_best", "comparisons")
LOGGED_METRIC = "macro_f1"
"""The metric that is logged; the tables have all."""


def combine_folds(reports: Path, report: ReportSettings) -> pd.DataFrame:
    """Every cross-validation there is: mean and spread over folds, differences to the reference."""
    tables = [pd.DataFrame(columns=["dataset", "recipe", *FOLDS])]
    for validation in saved_folds(reports):
        title = f"{validation.dataset}/{validation.recipe}"
        if report.reference not in validation.results:
            logger.warning("%s: no fold of %s, nothing to compare with", title, report.reference)
            continue
        table = compare_folds(
            validation.results, METRICS, reference=report.reference, folds=validation.folds
        )
        logger.info("%s, %d folds:\n%s", title, validation.folds, _show(table))
        tables.append(table.assign(dataset=validation.dataset, recipe=validation.recipe))
    return pd.concat(tables[1:] or tables, ignore_index=True)[tables[0].columns]


def combine_datasets(reports: Path) -> pd.DataFrame:
    """Mean rank and times best of each loss over the newest report of every dataset and recipe."""
    comparisons = saved_comparisons(reports)
    if not comparisons:
        logger.warning("no reports yet: kedro run makes one")
        return pd.DataFrame(columns=list(DATASETS))
    table = combine_comparisons(comparisons, METRICS)
    logger.info("%s:\n%s", ", ".join(comparisons), _show(table))
    return table


def _show(table: pd.DataFrame) -> str:
    rows = table[table["metric"] == LOGGED_METRIC]
    return str(rows.to_string(index=False, float_format="%.3f", na_rep=""))
