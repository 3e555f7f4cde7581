"""Errors for what a loss is handed, and the precision it computes in."""

import torch
from torch import Tensor


class NaNLogitsError(ValueError):
    """The logits handed to a loss hold NaN."""


def check_batch(
    name: str, logits: Tensor, targets: Tensor, *, soft: bool, labels: int | None = None
) -> tuple[Tensor, Tensor]:
    """Return logits and targets in one floating type (float32 at least), or say what is wrong."""
    if logits.ndim != 2 or logits.shape != targets.shape:
        raise ValueError(
            f"{name}: logits and targets must both be documents x labels, "
            f"got {tuple(logits.shape)} and {tuple(targets.shape)}"
        )
    if labels is not None and logits.shape[1] != labels:
        raise ValueError(
            f"{name}: its label statistics have {labels} labels, the logits {logits.shape[1]}"
        )
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    targets = targets.to(logits.dtype)
    if torch.isnan(logits).any():
        raise NaNLogitsError(f"{name}: {int(torch.isnan(logits).sum())} logits are NaN")
    if soft:
        if not ((targets >= 0) & (targets <= 1)).all():
            raise ValueError(f"{name}: targets must lie in [0, 1]")
    elif ((targets != 0) & (targets != 1)).any():
        raise ValueError(f"{name}: targets must be 0 or 1; this loss takes no soft targets")
    return logits, targets
