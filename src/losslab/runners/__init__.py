"""Kedro runners of our own: only what changed is computed again, losses side by side."""

from losslab.runners.cluster import RayRunner
from losslab.runners.incremental import IncrementalRunner
from losslab.runners.locks import find_holders, locked
from losslab.runners.plan import RunPlan

__all__ = ["IncrementalRunner", "RayRunner", "RunPlan", "find_holders", "locked"]
