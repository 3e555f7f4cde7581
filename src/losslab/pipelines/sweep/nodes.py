"""The results of all points of a sweep to a table, a figure and a page."""

from typing import Any

import pandas as pd
from plotly import graph_objects as go

from losslab.parameters import ReportSettings
from losslab.reporting import sweep_page


def tabulate_sweep(sweep_results: dict[str, Any], report: ReportSettings) -> pd.DataFrame:
    """By point, loss and metric: mean, spread and interval over seeds, difference to the baseline."""
    return sweep_page.tabulate_sweep(sweep_results, report.confidence)


def draw_sweep(sweep_table: pd.DataFrame, sweep_results: dict[str, Any]) -> go.Figure:
    """The sweep's metric by point."""
    return sweep_page.draw_sweep(sweep_table, sweep_results)


def render_page(
    sweep_table: pd.DataFrame,
    figure: go.Figure,
    sweep_results: dict[str, Any],
    run_description: dict[str, Any],
) -> str:
    """The page of the sweep."""
    run = sweep_page.SweepRunPart(**run_description)
    return sweep_page.render_sweep(sweep_table, figure, sweep_results, run)
