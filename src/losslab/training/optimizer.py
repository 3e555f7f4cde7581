"""The optimiser of every training, and its learning rate by step."""

from math import cos, pi

import torch
from torch import nn

from losslab.parameters import TrainingSettings
from losslab.training.network import ModelWithLoss


def make_optimizer(network: ModelWithLoss, settings: TrainingSettings) -> torch.optim.Optimizer:
    """AdamW: matrices decay; biases, norms and a loss's own parameters do not."""
    decays, others = [], []
    for name, parameter in network.named_parameters():
        if parameter.requires_grad:
            decay = parameter.ndim > 1 and not name.startswith("loss.")
            (decays if decay else others).append(parameter)
    groups = [
        {"params": decays, "weight_decay": settings.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, fused=_can_fuse(network))


def learning_rate_factor(settings: TrainingSettings, step: int, steps: int) -> float:
    """The share of the learning rate at ``step``: warm-up, then the schedule."""
    warm = round(settings.warmup * steps)
    if step < warm:
        return (step + 1) / (warm + 1)
    done = min((step - warm) / max(steps - warm, 1), 1.0)
    if settings.schedule == "linear":
        return 1 - done
    return (1 + cos(pi * done)) / 2 if settings.schedule == "cosine" else 1.0


def _can_fuse(network: nn.Module) -> bool:
    return all(p.is_floating_point() and p.device.type != "mps" for p in network.parameters())
