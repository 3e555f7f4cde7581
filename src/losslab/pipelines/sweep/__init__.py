from losslab.pipelines.sweep.pipeline import create_pipeline

__all__ = ["create_pipeline"]
