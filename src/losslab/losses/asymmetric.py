"""The asymmetric loss, widely used on images: negatives focused hard, easy ones dropped."""

import torch
from torch import Tensor

from losslab.losses.base import Context, Loss, with_gradient
from losslab.losses.pointwise import SMALLEST_FOCUS, focused_entries, power
from losslab.losses.spec import LabelStatistics


def asymmetric(
    logits: Tensor, targets: Tensor, *, gamma_pos: float, gamma_neg: float, clip: float
) -> Tensor:
    """Mean over entries; positives ``(1-p)^gamma_pos * softplus(-z)``, negatives ``q^gamma_neg *
    -log(1-q)`` with ``q = max(p - clip, 0)``.

    >>> asymmetric(torch.zeros(1, 1), torch.ones(1, 1), gamma_pos=0, gamma_neg=4, clip=0.05).item()
    0.6931...
    """
    with torch.no_grad():
        positive = targets > 0
        entries, slopes = focused_entries(-logits, gamma_pos)
        negatives, rises = (
            clipped_entries(logits, gamma_neg, clip) if clip else focused_entries(logits, gamma_neg)
        )
        value = torch.where(positive, entries, negatives).mean()
        gradient = torch.where(positive, -slopes, rises).div_(logits.numel())
    return with_gradient(logits, value, gradient)


def clipped_entries(logits: Tensor, gamma: float, clip: float) -> tuple[Tensor, Tensor]:
    """``q^gamma * -log(1-q)`` and its derivative by z, ``q = max(sigmoid(z) - clip, 0)``."""
    chance = torch.sigmoid(logits)
    clipped = (chance - clip).clamp_min_(0)
    cost = torch.log1p(-clipped).neg_()
    focus = power(clipped, gamma) if gamma >= 1 else clipped.clamp_min(SMALLEST_FOCUS) ** gamma
    slope = (1 - clipped).reciprocal_()
    if gamma:
        slope += (gamma * cost).div_(clipped.clamp_min_(SMALLEST_FOCUS))
    slope.mul_(focus).mul_(chance > clip).mul_(chance.mul_(1 - chance))
    return cost.mul_(focus), slope


class AsymmetricLoss(Loss):
    """Asymmetric loss: for many easy negatives per document.

    ``mean of (1-p)^gamma_pos * softplus(-z)`` over positives and ``q^gamma_neg * -log(1-q)`` over
    negatives, ``q = max(p - clip, 0)`` (Ridnik et al. 2021, eq. 4 to 7). The focal factor is part
    of the gradient; the authors' code detaches it by default.

    >>> loss = AsymmetricLoss(gamma_pos=0.0, gamma_neg=4.0, clip=0.05)
    >>> loss(torch.full((1, 1), -9.0), torch.zeros(1, 1)).item()  # an easy negative costs nothing
    0.0
    """

    def __init__(
        self,
        statistics: LabelStatistics | None = None,
        *,
        gamma_pos: float,
        gamma_neg: float,
        clip: float,
    ) -> None:
        super().__init__()
        self.options = {"gamma_pos": gamma_pos, "gamma_neg": gamma_neg, "clip": clip}

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents x labels."""
        return asymmetric(logits, targets, **self.options)
