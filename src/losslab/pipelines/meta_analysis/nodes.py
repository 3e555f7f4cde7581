"""Reports of earlier runs to a comparison over datasets."""

import logging
from pathlib import Path

import pandas as pd

from losslab.evaluation import combine_comparisons
from losslab.reporting.definitions import METRICS
from losslab.reporting.saved_results import saved_comparisons

logger = logging.getLogger(__name__)
COLUMNS = ("loss", "metric", "mean_rank", "times_best", "comparisons")
LOGGED_METRIC = "macro_f1"
"""The metric that is logged; the table has all."""


def combine_datasets(reports: Path) -> pd.DataFrame:
    """Mean rank and times best of each loss over the newest report of every dataset and recipe."""
    comparisons = saved_comparisons(reports)
    if not comparisons:
        logger.warning("no reports yet: kedro run makes one")
        return pd.DataFrame(columns=list(COLUMNS))
    table = combine_comparisons(comparisons, METRICS)
    logger.info("%s:\n%s", ", ".join(comparisons), _show(table))
    return table


def _show(table: pd.DataFrame) -> str:
    rows = table[table["metric"] == LOGGED_METRIC]
    return str(rows.to_string(index=False, float_format="%.3f", na_rep=""))
