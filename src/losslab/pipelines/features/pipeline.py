"""documents - embeddings; splits - features; splits - TF-IDF."""

from kedro.pipeline import Node, Pipeline

from losslab.pipelines.features import nodes


def create_pipeline() -> Pipeline:
    """What the recipe's model reads."""
    return _stage(
        Node(
            nodes.embed_documents,
            ["documents", "params:frozen_encoder"],
            "embeddings",
            name="embed_documents",
        ),
        Node(
            nodes.compute_features,
            ["splits", "documents", "embeddings", "params:features"],
            ["features", "tokenizer"],
            name="compute_features",
        ),
    )


def create_tfidf() -> Pipeline:
    """What baselines read: words weighted by TF-IDF."""
    return _stage(
        Node(
            nodes.compute_tfidf,
            ["splits", "params:tfidf"],
            ["tfidf", "tfidf_vocabulary"],
            name="compute_tfidf",
        )
    )


def _stage(*stage: Node) -> Pipeline:
    return Pipeline(
        stage, namespace="features", prefix_datasets_with_namespace=False, tags="features"
    )
