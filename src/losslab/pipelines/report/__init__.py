from losslab.pipelines.report.pipeline import create_pipeline

__all__ = ["create_pipeline"]
