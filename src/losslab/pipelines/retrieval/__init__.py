from losslab.pipelines.retrieval.pipeline import create_data, create_features, create_pipeline

__all__ = ["create_data", "create_features", "create_pipeline"]
