"""what earlier runs left - tables over folds, over datasets."""

from kedro.pipeline import Node, Pipeline

from losslab.pipelines.meta_analysis import nodes


def create_pipeline() -> Pipeline:
    """Results of several runs in one: folds of a corpus, and datasets."""
    return Pipeline(
        [
            Node(
                nodes.combine_folds,
                ["reports", "params:report"],
                "across_folds",
                name="combine_folds",
            ),
            Node(nodes.combine_datasets, "reports", "across_datasets", name="combine_datasets"),
        ],
        tags="across",
    )
