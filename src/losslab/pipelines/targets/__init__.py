from losslab.pipelines.targets.pipeline import create_pipeline

__all__ = ["create_pipeline"]
