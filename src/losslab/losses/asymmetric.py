"""Asymmetric losses: negatives focused hard, easy ones dropped; widely used on images.

Symbols of Ridnik et al. 2021: p = sigmoid(z), m ``clip``, gamma+ ``gamma_pos``, gamma- ``gamma_neg``.
"""

from typing import Annotated

import torch
from torch import Tensor

from losslab.losses.balanced import clamped_frequencies
from losslab.losses.base import Context, Loss
from losslab.losses.cross_entropy import (
    SMALLEST_FOCUS,
    focused_entries,
    focused_positives,
    power,
    two_sided,
)
from losslab.losses.hyperparameters import Option
from losslab.losses.label_statistics import LabelStatistics

SCRIPT = "the authors' training script for MS-COCO"
CODE = "the authors' code"
COMIC = "Zhang et al. 2023, Learning in Imperfect Environment (COMIC)"


def asymmetric(
    logits: Tensor, targets: Tensor, *, gamma_pos: float, gamma_neg: float, clip: float
) -> Tensor:
    """Mean over entries; positives ``(1-p)^gamma_pos * softplus(-z)``, negatives ``q^gamma_neg *
    -log(1-q)`` with ``q = max(p - clip, 0)``.

    >>> asymmetric(torch.zeros(1, 1), torch.ones(1, 1), gamma_pos=0, gamma_neg=4, clip=0.05).item()
    0.6931...
    """
    with torch.no_grad():
        positives = focused_positives(logits, gamma_pos)
        negatives = clipped_negatives(logits, gamma_neg, clip)
    return two_sided(logits, targets > 0, positives, negatives)


def clipped_negatives(logits: Tensor, gamma: float, clip: float) -> tuple[Tensor, Tensor]:
    """The negatives of :func:`asymmetric` and their slopes; clip 0: ``p^gamma * softplus(z)``."""
    return clipped_entries(logits, gamma, clip) if clip else focused_entries(logits, gamma)


def clipped_entries(logits: Tensor, gamma: float | Tensor, clip: float) -> tuple[Tensor, Tensor]:
    """``g(z) = q^gamma * -log(1-q)`` and its derivative, ``q = max(p - clip, 0)``, clip above 0.

    ``gamma`` may be one number per label, each at least 1.

    ``g'(z) = q^gamma * (1/(1-q) + gamma * -log(1-q) / q) * p (1-p)`` where p > clip, else 0
    """
    chance = torch.sigmoid(logits)
    clipped = (chance - clip).clamp_min_(0)
    cost = clipped.neg().log1p_().neg_()
    steep = isinstance(gamma, Tensor) or gamma >= 1
    focus = power(clipped, gamma) if steep else clipped.clamp_min(SMALLEST_FOCUS) ** gamma
    slope = (1 - clipped).reciprocal_()
    if steep or gamma:
        slope += (gamma * cost).div_(clipped.clamp_min_(SMALLEST_FOCUS))
    if not steep:  # else the focus is 0 up to the clip
        slope *= chance > clip
    slope.mul_(focus).mul_(chance.mul_(1 - chance))
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


class MultiFocalModifierLoss(Loss):
    """COMIC loss: the asymmetric loss with a weight and a focus for each label; choose it where some
    labels are missing and the tail is long.

    ``mean of w_c * softplus(-z)`` over positives and ``w_c * q^(gamma_neg + w_c) * -log(1-q)`` over
    negatives, ``q = max(p - clip, 0)``, ``w_c = (1 - ln(n_c / n_max))^(1/6)``: 1 for the commonest
    label, more for rarer ones (multi-focal modifier). The rest of COMIC, which corrects labels and
    balances a second classifier, is no loss. The focal factor is part of the gradient; the authors'
    code detaches it by default, and sums over entries.

    Shapes: logits and targets B x C, targets 0 or 1, C frequencies; value scalar.

    >>> loss = MultiFocalModifierLoss(LabelStatistics([50, 1], documents=100))
    >>> loss(torch.zeros(1, 2), torch.ones(1, 2)).item()  # (1 + 4.912^(1/6)) / 2 * ln 2
    0.798...
    """

    name = "comic"
    title = "Multi-focal modifier"
    choose_when = "some labels are missing and the tail is long"
    paper = COMIC
    formula = r"""L &= \frac{1}{BC} \sum_{i,c} \begin{cases}
w_c \operatorname{softplus}(-z_{ic}) & y_{ic} = 1 \\
-w_c\, q_{ic}^{\gamma_- + w_c} \log (1 - q_{ic}) & y_{ic} = 0 \end{cases} \\
q_{ic} &= \max (p_{ic} - m, 0), \quad w_c = \bigl( 1 - \ln (n_c / n_{\max}) \bigr)^{1/6}"""
    needs = ("statistics",)

    def __init__(
        self,
        statistics: LabelStatistics,
        *,
        gamma_neg: Annotated[float, Option(CODE, minimum=0, search=(0, 8))] = 4.0,
        clip: Annotated[
            float, Option(CODE, minimum=0.001, maximum=0.999, search=(0.01, 0.3))
        ] = 0.05,
    ) -> None:
        super().__init__()
        self.labels, self.clip = len(statistics.frequencies), clip
        frequencies, _ = clamped_frequencies(statistics)
        weights = (1 - torch.log(frequencies / frequencies.max())) ** (1 / 6)
        self.keep(weights=weights, gammas=gamma_neg + weights)

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents x labels."""
        weights, gammas = (self.constant(name, logits) for name in ("weights", "gammas"))
        with torch.no_grad():
            positives = focused_positives(logits, 0.0)
            negatives = clipped_entries(logits, gammas, self.clip)
            for part in (*positives, *negatives):
                part *= weights
        return two_sided(logits, targets > 0, positives, negatives)
