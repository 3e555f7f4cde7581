"""Kedro runners of our own: only what changed is computed again."""

from losslab.runners.incremental import IncrementalRun, IncrementalRunner
from losslab.runners.locks import find_holders, locked

__all__ = ["IncrementalRun", "IncrementalRunner", "find_holders", "locked"]
