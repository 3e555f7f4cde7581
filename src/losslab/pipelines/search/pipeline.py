"""what a training is prepared from - a search per loss - best settings; default and tuned - report."""

from collections.abc import Sequence

from kedro.pipeline import Node, Pipeline

from losslab.errors import GATHERS
from losslab.parameters import namespace
from losslab.pipelines.reporting.nodes import describe_run
from losslab.pipelines.search import nodes
from losslab.pipelines.sweep.nodes import draw_sweep, tabulate_sweep
from losslab.pipelines.training.pipeline import training_inputs

SEARCH = "search"
"""Tag of nodes that do trials."""


def create_pipeline(losses: Sequence[str]) -> Pipeline:
    """Search the hyperparameters of every loss, then gather the best."""
    searches = {namespace(loss): f"{namespace(loss)}_search" for loss in losses}
    gather = Node(nodes.write_best, searches, "best_settings", name="write_best", tags=GATHERS)
    stage = Pipeline([gather], namespace=SEARCH, prefix_datasets_with_namespace=False)
    return sum((_search(loss) for loss in losses), stage)


def _search(loss: str) -> Pipeline:
    node = Node(
        nodes.search,
        {**training_inputs(loss), "settings": "params:search", "studies": "studies"},
        f"{namespace(loss)}_search",
        name="search",
    )
    return Pipeline(
        [node],
        namespace=f"{SEARCH}.{namespace(loss)}",
        prefix_datasets_with_namespace=False,
        tags=[namespace(loss), SEARCH],
    )


def create_report() -> Pipeline:
    """Report a search from what its trials, and the trainings of default and tuned, gave."""
    results = ["search_results", "params:report"]
    return Pipeline(
        [
            Node(tabulate_sweep, results, "search_points", name="tabulate_points"),
            Node(nodes.tabulate_search, results, "search_table", name="tabulate_search"),
            Node(
                draw_sweep,
                ["search_points", "search_results"],
                "search_figure",
                name="draw_search",
            ),
            Node(describe_run, ["provenance", "search_table"], "search_run", name="describe_run"),
            Node(
                nodes.render_page,
                {
                    "search_table": "search_table",
                    "figure": "search_figure",
                    "search_results": "search_results",
                    "run_description": "search_run",
                },
                "search_page",
                name="render_page",
            ),
        ],
        namespace="search_report",
        prefix_datasets_with_namespace=False,
        tags="search_report",
    )
