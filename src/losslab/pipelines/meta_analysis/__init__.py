from losslab.pipelines.meta_analysis.pipeline import create_pipeline

__all__ = ["create_pipeline"]
