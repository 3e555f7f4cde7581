"""Mirroring results to MLflow; the catalog's files stay the truth."""

from losslab.tracking.guard import MlflowGuard
from losslab.tracking.journal import Journal
from losslab.tracking.outbox import Outbox
from losslab.tracking.provenance import (
    describe_command,
    describe_process,
    describe_source,
    process_is_alive,
)
from losslab.tracking.sender import PROCESS_TAG, MlflowSender, without_credentials
from losslab.tracking.training_runs import (
    CURRENT_TAG,
    FAILURE_TAG,
    MADE_BY_TAG,
    PARENT,
    TrainingRuns,
)
from losslab.tracking.ui import open_runs, serve
from losslab.tracking.view import save_view, view_address

__all__ = [
    "CURRENT_TAG",
    "FAILURE_TAG",
    "MADE_BY_TAG",
    "PARENT",
    "PROCESS_TAG",
    "Journal",
    "MlflowGuard",
    "MlflowSender",
    "Outbox",
    "TrainingRuns",
    "describe_command",
    "describe_process",
    "describe_source",
    "open_runs",
    "process_is_alive",
    "save_view",
    "serve",
    "view_address",
    "without_credentials",
]
