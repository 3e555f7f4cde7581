"""results of all folds - comparison over folds, plot - page."""

from kedro.pipeline import Node, Pipeline

from losslab.pipelines.cross_validation import nodes
from losslab.pipelines.reporting.nodes import describe_run


def create_pipeline() -> Pipeline:
    """Compare losses over the folds of one cross-validation."""
    return Pipeline(
        [
            Node(
                nodes.compare_folds,
                [
                    "fold_metrics",
                    "params:split",
                    "params:losses",
                    "params:task",
                    "params:report",
                    "params:modality",
                ],
                ["fold_scores", "fold_comparison", "cross_validation_conditions"],
                name="compare_folds",
            ),
            Node(
                nodes.draw_folds,
                ["fold_scores", "fold_comparison"],
                "fold_scores_figure",
                name="draw_folds",
            ),
            Node(
                describe_run,
                ["provenance", "fold_comparison"],
                "cross_validation_run",
                name="describe_run",
            ),
            Node(
                nodes.render_page,
                {
                    "fold_comparison": "fold_comparison",
                    "figure": "fold_scores_figure",
                    "conditions": "cross_validation_conditions",
                    "run_description": "cross_validation_run",
                    "report": "params:report",
                },
                "cross_validation_page",
                name="render_page",
            ),
        ],
        namespace="cross_validation",
        prefix_datasets_with_namespace=False,
        tags="cross_validation",
    )
