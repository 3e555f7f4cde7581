from losslab.pipelines.features.pipeline import create_pipeline, create_tfidf

__all__ = ["create_pipeline", "create_tfidf"]
