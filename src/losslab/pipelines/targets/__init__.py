from losslab.pipelines.targets.pipeline import create_pipeline
from losslab.pipelines.targets.sources import FROM_TEXTS, SOURCES

__all__ = ["FROM_TEXTS", "SOURCES", "create_pipeline"]
