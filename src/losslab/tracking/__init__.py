"""Mirroring results to MLflow; the catalog's files stay the truth."""

from losslab.tracking.mirror import TrainingRuns
from losslab.tracking.provenance import describe_process, describe_source, still_runs

__all__ = ["TrainingRuns", "describe_process", "describe_source", "still_runs"]
