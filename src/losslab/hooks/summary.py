"""Prints the answer of a run: the table, and where to look further."""

from pathlib import Path
from typing import Any

import click
from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from losslab.errors import LosslabError
from losslab.hooks.parts import current_part
from losslab.hooks.tracking import METRICS, Tracking, Wrapper

REPORTS = ("report_page", "retrieval_page")
"""Pages that a run ends with."""
FINDINGS = 3
"""Findings of the diagnosis that are printed; the page has all."""


class Summary:
    """Prints the metrics that a run saved as a table, and where to look further."""

    def __init__(self, tracking: Tracking) -> None:
        self._tracking = tracking
        self._metrics: dict[str, dict[str, Any]] = {}
        self._failed: dict[str, str] = {}
        self._diagnosis: dict[str, Any] = {}
        self._report_saved = False

    @hook_impl(tryfirst=True)
    def before_pipeline_run(self) -> None:
        """Forget an earlier run of the same process."""
        self._metrics, self._failed, self._report_saved = {}, {}, False
        self._diagnosis = {}

    @hook_impl
    def after_dataset_saved(self, dataset_name: str, data: Any) -> None:
        """Collect the metrics of each loss, and what the command asks for."""
        part = current_part()
        if part is not None and dataset_name in part.asked:
            part.datasets[dataset_name] = data
        if dataset_name in METRICS and "rules" in data:  # ranks of retrieval are reported alone
            self._metrics[METRICS[dataset_name]] = data
        elif dataset_name == "failed_losses":
            self._failed = data
        elif dataset_name == "diagnosis":
            self._diagnosis = data
        self._report_saved |= dataset_name in REPORTS

    @hook_impl
    def on_node_error(self, error: Exception, catalog: DataCatalog) -> None:
        """Add the path of the dataset that has the details of an error."""
        if isinstance(error, LosslabError) and error.details:
            dataset: Any = catalog.get(error.details)
            name = error.details.replace("_", " ")
            error.args = (f"{error}; {name}: {_relative(dataset.latest)}",)

    @hook_impl
    def node_is_current(self, node: Node, catalog: DataCatalog) -> None:
        """Collect the metrics of losses that an earlier run evaluated, too."""
        self.node_computed(node, catalog)

    @hook_impl
    def node_computed(self, node: Node, catalog: DataCatalog) -> None:
        """Collect the metrics of losses that a worker evaluated."""
        part = current_part()
        asked = part.asked if part else ()
        told = {*METRICS, "failed_losses", "diagnosis", *REPORTS, *asked}
        for name in told & set(node.outputs):
            self.after_dataset_saved(name, catalog.load(name))

    @hook_impl(wrapper=True, tryfirst=True)
    def after_pipeline_run(self, pipeline: Pipeline, catalog: DataCatalog) -> Wrapper:
        """Print the table when all other hooks are done; nothing where no loss was evaluated."""
        results = yield
        if current_part() is not None:
            return results
        if "sweep_page" in pipeline.all_outputs():
            self._print_sweep(catalog)
        elif "search_page" in pipeline.all_outputs():
            self._print_search(catalog)
        elif "cross_validation_page" in pipeline.all_outputs():
            self._print_folds(catalog)
        elif "retrieval_page" in pipeline.all_outputs():
            self._print_retrieval(catalog)
        elif self._metrics:
            self._print(catalog)
        return results

    @hook_impl(wrapper=True, tryfirst=True)
    def on_pipeline_error(self, pipeline: Pipeline, catalog: DataCatalog) -> Wrapper:
        """Print the table of what was finished, and what failed."""
        results = yield
        if self._report_saved and "retrieval_page" in pipeline.all_outputs():
            self._print_retrieval(catalog)
        elif self._report_saved:
            self._print(catalog)
        return results

    def _print_folds(self, catalog: DataCatalog) -> None:
        """The path of the page, then the table over folds."""
        from losslab.reporting import folds_to_markdown

        page: Any = catalog.get("cross_validation_page")
        table = folds_to_markdown(
            catalog.load("fold_comparison"), catalog.load("params:report").reference
        )
        runs = f"runs     {self._tracking.how_to_open()}"
        click.echo("\n".join(["", f"report   {_relative(page.latest)}", "", table, "", runs, ""]))

    def _print_sweep(self, catalog: DataCatalog) -> None:
        """The path of the page, then the table over points."""
        from losslab.reporting import sweep_to_markdown

        page: Any = catalog.get("sweep_page")
        table = sweep_to_markdown(catalog.load("sweep_table"), catalog.load("sweep_results"))
        runs = f"runs     {self._tracking.how_to_open()}"
        click.echo("\n".join(["", f"report   {_relative(page.latest)}", "", table, "", runs, ""]))

    def _print_retrieval(self, catalog: DataCatalog) -> None:
        """Recall@k and MRR of every method, the path of the page, and what failed."""
        from losslab.reporting import retrieval_to_markdown

        page: Any = catalog.get("retrieval_page")
        reference = catalog.load("params:report").reference
        lines = ["", retrieval_to_markdown(catalog.load("retrieval_comparison"), reference)]
        lines += [f"| {loss} | failed: {reason} |" for loss, reason in self._failed.items()]
        lines += ["", f"report   {_relative(page.latest)}"]
        lines += [f"runs     {self._tracking.how_to_open()}", "DAG      kedro viz", ""]
        click.echo("\n".join(lines))

    def _print_search(self, catalog: DataCatalog) -> None:
        """The path of the page, then default against tuned, and where the best settings are."""
        from losslab.reporting import search_to_markdown

        page: Any = catalog.get("search_page")
        best: Any = catalog.get("best_settings")
        metric = catalog.load("search_results")["metric"]
        table = search_to_markdown(catalog.load("search_table"), metric)
        paths = [f"report   {_relative(page.latest)}", f"settings {_relative(best.latest)}"]
        runs = f"runs     {self._tracking.how_to_open()}"
        click.echo("\n".join(["", *paths, "", table, "", runs, ""]))

    def _print(self, catalog: DataCatalog) -> None:
        from losslab.reporting import comparison_table, diagnosis_lines, to_markdown

        table = comparison_table(self._metrics)
        lines = ["", to_markdown(table)]
        lines += [f"| {loss} | failed: {reason} |" for loss, reason in self._failed.items()]
        lines.append("")
        if self._diagnosis:
            lines += [*diagnosis_lines(self._diagnosis, FINDINGS), ""]
        page: Any = catalog.get("report_page")
        if self._report_saved:
            lines.append(f"report   {_relative(page.latest)}")
        lines += [f"runs     {self._tracking.how_to_open()}", "DAG      kedro viz", ""]
        click.echo("\n".join(lines))


def _relative(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
