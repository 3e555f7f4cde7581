from losslab.pipelines.data.pipeline import create_pipeline

__all__ = ["create_pipeline"]
