"""Around a run: parameters are checked, results mirrored to MLflow, a table printed."""

from losslab.hooks.parameter_check import ParameterCheck
from losslab.hooks.summary import Summary
from losslab.hooks.tracking import Tracking

__all__ = ["ParameterCheck", "Summary", "Tracking"]
