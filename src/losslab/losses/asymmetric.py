"""Asymmetric loss: negatives focused hard, easy ones dropped; widely used on images.

Symbols of Ridnik et al. 2021: p = sigmoid(z), m ``clip``, gamma+ ``gamma_pos``, gamma- ``gamma_neg``.
"""

from typing import Annotated

import torch
from torch import Tensor

from losslab.losses.base import Context, Loss, with_gradient
from losslab.losses.cross_entropy import SMALLEST_FOCUS, focused_entries, power
from losslab.losses.hyperparameters import Option

SCRIPT = "the authors' training script for MS-COCO"


def asymmetric(
    logits: Tensor, targets: Tensor, *, gamma_pos: float, gamma_neg: float, clip: float
) -> Tensor:
    """Mean over entries; positives ``(1-p)^gamma_pos * softplus(-z)``, negatives ``q^gamma_neg *
    -log(1-q)`` with ``q = max(p - clip, 0)``.

    >>> asymmetric(torch.zeros(1, 1), torch.ones(1, 1), gamma_pos=0, gamma_neg=4, clip=0.05).item()
    0.6931...
    """
    # d entry / dz = -f'(-z) for positives, f'(z) (clip 0) or g'(z) for negatives: see below for g'.
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
    """``g(z) = q^gamma * -log(1-q)`` and its derivative, ``q = max(p - clip, 0)``.

    ``g'(z) = q^gamma * (1/(1-q) + gamma * -log(1-q) / q) * p (1-p)`` where p > clip, else 0
    """
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
    """Asymmetric loss: focuses negatives harder than positives and drops the easiest; choose it
    where documents have many negatives and some of their labels are missing.

    ``mean of (1-p)^gamma_pos * softplus(-z)`` over positives and ``q^gamma_neg * -log(1-q)`` over
    negatives, ``q = max(p - clip, 0)`` (eq. 4 to 7). The focal factor is part of the gradient; the
    authors' code detaches it by default.

    Shapes: logits and targets B x C, targets 0 or 1; value scalar.

    >>> loss = AsymmetricLoss()
    >>> loss(torch.full((1, 1), -9.0), torch.zeros(1, 1)).item()  # an easy negative costs nothing
    0.0
    """

    name = "asl"
    title = "Asymmetric loss"
    choose_when = "documents have many negatives and some of their labels are missing"
    paper = "Ridnik et al. 2021, Asymmetric Loss, eq. 4 to 7"
    formula = r"""L &= \frac{1}{BC} \sum_{i,c} \begin{cases}
(1 - p_{ic})^{\gamma_+} \operatorname{softplus}(-z_{ic}) & y_{ic} = 1 \\
-q_{ic}^{\gamma_-} \log (1 - q_{ic}) & y_{ic} = 0 \end{cases} \\
q_{ic} &= \max (p_{ic} - m, 0)"""

    def __init__(
        self,
        *,
        gamma_pos: Annotated[float, Option(SCRIPT, minimum=0, search=(0, 4))] = 0.0,
        gamma_neg: Annotated[float, Option(SCRIPT, minimum=0, search=(0, 8))] = 4.0,
        clip: Annotated[float, Option(SCRIPT, minimum=0, maximum=0.999, search=(0, 0.3))] = 0.05,
    ) -> None:
        super().__init__()
        self.gamma_pos, self.gamma_neg, self.clip = gamma_pos, gamma_neg, clip

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents x labels."""
        gammas = {"gamma_pos": self.gamma_pos, "gamma_neg": self.gamma_neg}
        return asymmetric(logits, targets, **gammas, clip=self.clip)
