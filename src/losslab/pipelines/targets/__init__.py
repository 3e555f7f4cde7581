from losslab.pipelines.targets.pipeline import create_pipeline
from losslab.pipelines.targets.sources import SOURCES

__all__ = ["SOURCES", "create_pipeline"]
