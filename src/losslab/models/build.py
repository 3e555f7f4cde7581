"""From a recipe to a model, and from trained weights to logits."""

from collections.abc import Mapping
from typing import Protocol

import numpy as np
import torch
from torch import nn

from losslab.models.probe import Probe


class ProbeSettings(Protocol):
    """What of a recipe shapes the probe."""

    hidden: int
    dropout: float


def build_model(settings: ProbeSettings, *, width: int, labels: int) -> nn.Module:
    """A model with fresh weights."""
    return Probe(width=width, labels=labels, hidden=settings.hidden, dropout=settings.dropout)


def predict_logits(
    model: nn.Module, weights: Mapping[str, np.ndarray], features: np.ndarray
) -> np.ndarray:
    """Logits of ``model`` with ``weights``, documents x labels."""
    model.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    with torch.inference_mode():
        logits: np.ndarray = model.eval()(torch.from_numpy(features)).numpy()
    return logits
