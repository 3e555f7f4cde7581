from losslab.pipelines.training.pipeline import create_baseline, create_pipeline

__all__ = ["create_baseline", "create_pipeline"]
