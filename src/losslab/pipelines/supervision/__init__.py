from losslab.pipelines.supervision.pipeline import (
    SOFT_TARGETS,
    SOFT_ZLPR_TARGETS,
    count_words,
    create_pipeline,
)

__all__ = ["SOFT_TARGETS", "SOFT_ZLPR_TARGETS", "count_words", "create_pipeline"]
