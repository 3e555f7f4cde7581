from losslab.pipelines.losses.pipeline import create_pipeline

__all__ = ["create_pipeline"]
