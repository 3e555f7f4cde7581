"""Mirroring results to MLflow; the catalog's files stay the truth."""

from losslab.tracking.guard import MlflowGuard
from losslab.tracking.provenance import describe_process, describe_source, process_is_alive
from losslab.tracking.training_runs import PROCESS_TAG, TrainingRuns
from losslab.tracking.view import save_view, view_address

__all__ = [
    "PROCESS_TAG",
    "MlflowGuard",
    "TrainingRuns",
    "describe_process",
    "describe_source",
    "process_is_alive",
    "save_view",
    "view_address",
]
