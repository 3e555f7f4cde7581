"""From a recipe to a model."""

from typing import Protocol

from torch import nn

from losslab.models.probe import Probe


class ProbeSettings(Protocol):
    """What of a recipe shapes the probe."""

    hidden: int
    dropout: float


def build_model(settings: ProbeSettings, *, width: int, labels: int) -> nn.Module:
    """A model with fresh weights."""
    return Probe(width=width, labels=labels, hidden=settings.hidden, dropout=settings.dropout)
