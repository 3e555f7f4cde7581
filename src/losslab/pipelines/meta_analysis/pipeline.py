"""results of earlier runs - comparisons over folds and over datasets."""

from kedro.pipeline import Node, Pipeline

from losslab.pipelines.meta_analysis import nodes


def create_pipeline() -> Pipeline:
    """Compare losses over cross-validation folds and over datasets."""
    return Pipeline(
        [
            Node(
                nodes.combine_folds,
                ["reports", "params:report"],
                "fold_comparison",
                name="combine_folds",
            ),
            Node(nodes.combine_datasets, "reports", "dataset_comparison", name="combine_datasets"),
        ],
        namespace="meta_analysis",
        prefix_datasets_with_namespace=False,
        tags="meta_analysis",
    )
