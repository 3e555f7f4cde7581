"""A search of each loss, its best settings, and the report of tuned against default."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from plotly import graph_objects as go
from scipy import sparse

from losslab.errors import Failure, LosslabError
from losslab.evaluation import grid_values
from losslab.losses import LOSSES
from losslab.parameters import (
    LossSettings,
    Recipe,
    ReportSettings,
    SearchSettings,
    ThresholdGrid,
)
from losslab.pipelines.training.nodes import gather_data
from losslab.reporting import search_page, sweep_page

Arrays = dict[str, np.ndarray]


def search(
    loss: LossSettings,
    recipe: Recipe,
    features: Arrays,
    label_matrix: sparse.csr_array,
    splits: pd.DataFrame,
    label_space: list[str],
    label_statistics: dict[str, Any],
    grid: ThresholdGrid | None,
    select_by: str,
    validation_rule: str,
    task: str,
    seed: int,
    settings: SearchSettings,
    studies: Path,
    checkpoints: Any = None,
    groups: Any = None,
    **context: Any,
) -> dict[str, Any]:
    """Every trial of a loss, the default and the best by validation; test data are not used."""
    from losslab.runners.code import code_hashes
    from losslab.search import run_search, study_file
    from losslab.training.job import describe_job, run_job

    job = describe_job(
        loss,
        recipe,
        label_statistics,
        task,
        labels=tuple(label_space),
        grid=grid_values(loss, grid),
        select_by=select_by,
        validation_rule=validation_rule,
        seed=seed,
    )
    data = gather_data(features, label_matrix, splits, groups, context)
    code = code_hashes(run_job, LOSSES[loss.name])
    file = study_file(studies, loss.name)
    return run_search(job, data, settings, file, code, checkpoints)


def write_best(**searches: dict[str, Any] | Failure) -> str:
    """The best settings of every loss as YAML."""
    finished = [each for each in searches.values() if not isinstance(each, Failure)]
    if not finished:
        raise LosslabError("no search was finished")
    return search_page.best_as_yaml(finished)


def tabulate_search(search_results: dict[str, Any], report: ReportSettings) -> pd.DataFrame:
    """By loss: trials, default and best on validation, default and tuned on test, their ranks."""
    return search_page.tabulate_search(search_results, report.confidence)


def render_page(
    search_table: pd.DataFrame,
    figure: go.Figure,
    search_results: dict[str, Any],
    run_description: dict[str, Any],
) -> str:
    """The page of the search."""
    run = sweep_page.SweepRunPart(**run_description)
    return search_page.render_search(search_table, figure, search_results, run)
