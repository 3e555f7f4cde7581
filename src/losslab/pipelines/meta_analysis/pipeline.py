"""reports of earlier runs - comparison over datasets."""

from kedro.pipeline import Node, Pipeline

from losslab.pipelines.meta_analysis import nodes


def create_pipeline() -> Pipeline:
    """Compare losses over datasets."""
    return Pipeline(
        [Node(nodes.combine_datasets, "reports", "dataset_comparison", name="combine_datasets")],
        namespace="meta_analysis",
        prefix_datasets_with_namespace=False,
        tags="meta_analysis",
    )
