"""documents - embeddings; splits - features; splits - TF-IDF. What is computed, the modality decides."""

from kedro.pipeline import Node, Pipeline

from losslab.pipelines.features import nodes


def create_pipeline(modality: str = "text") -> Pipeline:
    """What the recipe's model reads of documents, which are texts or images."""
    return _of_images() if modality == "image" else _of_texts()


def _of_texts() -> Pipeline:
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


def _of_images() -> Pipeline:
    return _stage(
        Node(
            nodes.embed_images,
            ["documents", "raw_files", "params:frozen_encoder"],
            "embeddings",
            name="embed_images",
        ),
        Node(
            nodes.decode_images,
            ["splits", "documents", "embeddings", "raw_files", "params:features"],
            "features",
            name="decode_images",
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
