"""Kedro hooks: pipelines that fit the run, MLflow runs, and a summary table."""

from losslab.hooks.selection import PipelineSelection
from losslab.hooks.summary import NO_SUMMARY, Summary
from losslab.hooks.tracking import MLFLOW_DEFAULTS, OUTBOX, Tracking

__all__ = [
    "MLFLOW_DEFAULTS",
    "NO_SUMMARY",
    "OUTBOX",
    "PipelineSelection",
    "Summary",
    "Tracking",
]
