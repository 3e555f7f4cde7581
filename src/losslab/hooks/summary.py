"""The comparison on the terminal when a run ends."""

from pathlib import Path
from typing import Any

import click
from kedro.framework.hooks import hook_impl
from kedro.io import CatalogProtocol

from losslab.hooks.tracking import METRICS, Tracking


class Summary:
    """Collects the metrics a run saves and prints them as a table, then where to look further."""

    def __init__(self, tracking: Tracking) -> None:
        self._tracking = tracking
        self._forget()

    def _forget(self) -> None:
        self._metrics: dict[str, dict[str, Any]] = {}
        self._report_saved = False

    @hook_impl
    def before_pipeline_run(self) -> None:
        """Forget an earlier run of the same process."""
        self._forget()

    @hook_impl
    def after_dataset_saved(self, dataset_name: str, data: Any) -> None:
        """Keep what belongs into the table."""
        if dataset_name in METRICS:
            self._metrics[METRICS[dataset_name]] = data
        self._report_saved |= dataset_name == "report_page"

    @hook_impl(trylast=True)
    def after_pipeline_run(self, catalog: CatalogProtocol) -> None:
        """Print the table; nothing where no loss was evaluated."""
        if not self._metrics:
            return
        from losslab.reporting import compare, to_markdown

        lines = ["", to_markdown(compare(self._metrics)), ""]
        if self._report_saved:
            lines.append(f"report   {_shorten(catalog.get('report_page').latest)}")
        lines += [f"runs     {self._tracking.how_to_open()}", "DAG      kedro viz", ""]
        click.echo("\n".join(lines))


def _shorten(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
