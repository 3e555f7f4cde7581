"""Errors for what a loss is handed, and the precision it computes in."""

import warnings

import torch
from torch import Tensor

SMALL_BATCH = 256


class NaNLogitsError(ValueError):
    """The logits handed to a loss hold NaN."""


def check_batch(
    name: str, logits: Tensor, targets: Tensor, *, soft: bool, labels: int | None = None
) -> tuple[Tensor, Tensor]:
    """Return logits and targets in one floating type (float32 at least), or say what is wrong."""
    if logits.ndim != 2 or logits.shape != targets.shape or logits.numel() == 0:
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
    _check_values(name, logits.detach(), targets, soft=soft)
    return logits, targets


def _check_values(name: str, logits: Tensor, targets: Tensor, *, soft: bool) -> None:
    """One pass over the logits, one or two over the targets, nothing of their size allocated."""
    if torch.isnan(logits.amax()):
        raise NaNLogitsError(f"{name}: {int(torch.isnan(logits).sum())} logits are NaN")
    check_probabilities(name, "targets", targets)
    flat = targets.reshape(-1)
    if not soft and torch.dot(flat, flat) != flat.sum():  # t * t < t strictly between 0 and 1
        raise ValueError(f"{name}: targets must be 0 or 1; this loss takes no soft targets")


def check_probabilities(name: str, what: str, values: Tensor) -> None:
    """Raise ``ValueError`` unless every value lies in [0, 1]."""
    lowest, highest = torch.aminmax(values)
    if not (lowest >= 0 and highest <= 1):
        raise ValueError(f"{name}: {what} must lie in [0, 1]")


def warn_of_small_batch(name: str, documents: int) -> None:
    """Warn where a batch holds too few positives of most labels to be judged as a whole."""
    if documents < SMALL_BATCH:
        warnings.warn(
            f"{name}: a batch below {SMALL_BATCH} documents is small for a loss over batches",
            stacklevel=2,
        )
