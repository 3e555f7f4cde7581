from losslab.pipelines.across.pipeline import create_pipeline

__all__ = ["create_pipeline"]
