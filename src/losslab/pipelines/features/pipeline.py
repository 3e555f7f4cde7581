"""splits - features."""

from kedro.pipeline import Node, Pipeline

from losslab.pipelines.features import nodes


def create_pipeline() -> Pipeline:
    """What the recipe's model reads."""
    return Pipeline(
        [
            Node(
                nodes.compute_features,
                ["splits", "params:features"],
                ["features", "tokenizer"],
                name="compute_features",
            )
        ],
        namespace="features",
        prefix_datasets_with_namespace=False,
        tags="features",
    )
