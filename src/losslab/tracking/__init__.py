"""Mirroring results to MLflow; the catalog's files stay the truth."""

from losslab.tracking.mirror import PROCESS_TAG, TrainingRuns
from losslab.tracking.provenance import describe_process, describe_source, still_runs
from losslab.tracking.view import save_view, view_address

__all__ = [
    "PROCESS_TAG",
    "TrainingRuns",
    "describe_process",
    "describe_source",
    "save_view",
    "still_runs",
    "view_address",
]
