from losslab.pipelines.retrieval.pipeline import create_pipeline

__all__ = ["create_pipeline"]
