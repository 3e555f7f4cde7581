from losslab.pipelines.features.pipeline import create_pipeline

__all__ = ["create_pipeline"]
