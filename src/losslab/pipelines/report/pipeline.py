"""metrics and histories of every loss - comparison table, figures, report page."""

from collections.abc import Iterable

from kedro.pipeline import Node, Pipeline

from losslab.parameters import namespace
from losslab.pipelines.report import nodes


def create_pipeline(losses: Iterable[str]) -> Pipeline:
    """The report on ``losses``."""
    names = list(losses)
    metrics = {name: f"{namespace(name)}.metrics" for name in names}
    histories = {name: f"{namespace(name)}.history" for name in names}
    return Pipeline(
        [
            Node(nodes.compare_losses, metrics, "comparison", name="compare_losses"),
            Node(nodes.draw_labels, "label_table", "label_distribution", name="draw_labels"),
            Node(nodes.draw_groups, metrics, "group_scores", name="draw_groups"),
            Node(nodes.draw_curves, histories, "learning_curves", name="draw_curves"),
            Node(
                nodes.render_report,
                [
                    "comparison",
                    "label_distribution",
                    "group_scores",
                    "learning_curves",
                    "label_statistics",
                    "params:dataset",
                    "params:recipe",
                ],
                "report_page",
                name="render_report",
            ),
        ],
        tags="report",
    )
