from losslab.pipelines.cross_validation.pipeline import create_pipeline

__all__ = ["create_pipeline"]
