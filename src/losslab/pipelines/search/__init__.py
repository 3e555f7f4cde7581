from losslab.pipelines.search.pipeline import create_pipeline, create_report

__all__ = ["create_pipeline", "create_report"]
