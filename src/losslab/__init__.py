"""Losses for long-tailed text classification: one corpus, one encoder, one budget."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"
LAZY = {"compare": "losslab.notebook", "load": "losslab.inference.folder"}
"""Functions that are imported when they are used: ``import losslab`` needs torch alone."""


def __getattr__(name: str) -> Any:
    if name in LAZY:
        return getattr(import_module(LAZY[name]), name)
    raise AttributeError(f"module 'losslab' has no attribute {name!r}")
