from losslab.pipelines.reporting.pipeline import (
    create_paper_tables,
    create_pipeline,
    create_soft_label_page,
)

__all__ = ["create_paper_tables", "create_pipeline", "create_soft_label_page"]
