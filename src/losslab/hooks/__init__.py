"""Kedro hooks: pipelines that fit the run, MLflow runs, and a summary table."""

from losslab.hooks.parts import PART, RunPart
from losslab.hooks.selection import PipelineSelection
from losslab.hooks.summary import Summary
from losslab.hooks.tracking import MLFLOW_DEFAULTS, OUTBOX, Tracking

__all__ = [
    "MLFLOW_DEFAULTS",
    "OUTBOX",
    "PART",
    "PipelineSelection",
    "RunPart",
    "Summary",
    "Tracking",
]
