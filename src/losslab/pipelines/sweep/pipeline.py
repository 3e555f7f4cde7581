"""results of all points - table, figure - page."""

from kedro.pipeline import Node, Pipeline

from losslab.pipelines.reporting.nodes import describe_run
from losslab.pipelines.sweep import nodes


def create_pipeline() -> Pipeline:
    """Report a sweep from what its jobs gave."""
    return Pipeline(
        [
            Node(
                nodes.tabulate_sweep,
                ["sweep_results", "params:report"],
                "sweep_table",
                name="tabulate_sweep",
            ),
            Node(
                nodes.draw_sweep,
                ["sweep_table", "sweep_results"],
                "sweep_figure",
                name="draw_sweep",
            ),
            Node(describe_run, ["provenance", "sweep_table"], "sweep_run", name="describe_run"),
            Node(
                nodes.render_page,
                {
                    "sweep_table": "sweep_table",
                    "figure": "sweep_figure",
                    "sweep_results": "sweep_results",
                    "run_description": "sweep_run",
                },
                "sweep_page",
                name="render_page",
            ),
        ],
        namespace="sweep",
        prefix_datasets_with_namespace=False,
        tags="sweep",
    )
