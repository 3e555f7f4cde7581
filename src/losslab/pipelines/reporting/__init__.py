from losslab.pipelines.reporting.pipeline import create_paper_tables, create_pipeline

__all__ = ["create_paper_tables", "create_pipeline"]
