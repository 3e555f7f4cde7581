"""Around a run: results are mirrored to MLflow, a table is printed."""

from losslab.hooks.summary import Summary
from losslab.hooks.tracking import Tracking

__all__ = ["Summary", "Tracking"]
