from losslab.pipelines.evaluation.pipeline import (
    collect_results,
    create_pipeline,
    record_conditions,
)

__all__ = ["collect_results", "create_pipeline", "record_conditions"]
