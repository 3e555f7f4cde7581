"""Cross-entropies: binary and focal, a mean over all entries; softmax, for one label per document.

Symbols of Huang et al. 2021: z ``logits``, y ``targets``, p = sigmoid(z), gamma ``gamma``; p_t is p
for positives and 1 - p for negatives. Decisions are made by sigmoid(z).
"""

from typing import Annotated

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from losslab.losses.base import Context, Loss, with_gradient
from losslab.losses.divergence import softmax_divergence
from losslab.losses.hyperparameters import Option

BALANCED = "Huang et al. 2021, Balancing Methods for Multi-label Text Classification"
Gamma = Annotated[float, Option("A.1: both datasets", minimum=0, search=(0, 5))]

SMALLEST_FOCUS = 1e-8  # below it, gamma in (0, 1) has an infinite gradient


def pointwise(
    logits: Tensor,
    targets: Tensor,
    *,
    gamma: float = 0.0,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    negative_scale: float = 1.0,
    divide_negatives: bool = True,
) -> Tensor:
    """Mean of ``w * (1 - p_t)^gamma * bce(u, y)``, negatives divided by ``negative_scale``.

    ``u = z - bias`` for positives and ``negative_scale * (z - bias)`` for negatives;
    ``p_t = exp(-bce(u, y))``. Targets are 0 or 1, the weight carries no gradient.

    >>> pointwise(torch.tensor([[0.0]]), torch.tensor([[1.0]])).item()  # ln 2
    0.6931...
    """
    # bce(u, y) = softplus(x) with x = -u for positives, u for negatives, and 1 - p_t = sigmoid(x):
    # d entry / dz = w * f'(x) * dx/dz, f as in focused_entries, dx/dz = -1 or lambda.
    with torch.no_grad():
        positive = targets > 0
        shifted = logits if bias is None else logits - bias
        wrongness = torch.where(positive, -shifted, negative_scale * shifted)
        entries, slopes = focused_entries(wrongness, gamma)
        if weight is not None:
            entries *= weight
            slopes *= weight
        if negative_scale != 1.0 and divide_negatives:
            entries = torch.where(positive, entries, entries / negative_scale)
        elif negative_scale != 1.0:
            slopes = torch.where(positive, slopes, slopes * negative_scale)
        slopes = torch.where(positive, -slopes, slopes).div_(logits.numel())
        value = entries.mean()
    return with_gradient(logits, value, slopes)


def two_sided(
    logits: Tensor,
    positive: Tensor,
    of_positives: tuple[Tensor, Tensor],
    of_negatives: tuple[Tensor, Tensor],
) -> Tensor:
    """Mean over entries of one function for positives and one for negatives.

    Each is given as its values and its slopes by the logit, documents x labels.
    """
    value = torch.where(positive, of_positives[0], of_negatives[0]).mean()
    slopes = torch.where(positive, of_positives[1], of_negatives[1]).div_(logits.numel())
    return with_gradient(logits, value, slopes)


def focused_positives(
    logits: Tensor, gamma: float, *, margin: float = 0.0
) -> tuple[Tensor, Tensor]:
    """``(1 - p_m)^gamma * -log p_m``, ``p_m = sigmoid(z - margin)``, and its slope by the logit."""
    entries, slopes = focused_entries(margin - logits, gamma)
    return entries, slopes.neg_()


def focused_entries(wrongness: Tensor, gamma: float) -> tuple[Tensor, Tensor]:
    """``f(x) = sigmoid(x)^gamma * softplus(x)`` and its derivative.

    ``f'(x) = sigmoid(x)^gamma * (sigmoid(x) + gamma * (1 - sigmoid(x)) * softplus(x))``
    """
    entries = F.softplus(wrongness)
    slopes = torch.sigmoid(wrongness)
    if gamma == 0:
        return entries, slopes
    floor = SMALLEST_FOCUS if gamma < 1 else 0.0
    focus = power(slopes.clamp_min(floor) if floor else slopes, gamma)
    grow = (1 - slopes).mul_(entries).mul_(gamma)
    if floor:
        grow *= slopes > floor
    slopes = slopes.add_(grow).mul_(focus)
    return entries.mul_(focus), slopes


def power(base: Tensor, exponent: float | Tensor) -> Tensor:
    """``base ** exponent``; fourth powers, a common default, by squaring twice."""
    if isinstance(exponent, Tensor) or exponent != 4:
        return base**exponent
    return base.square().square_()


class BinaryCrossEntropyLoss(Loss):
    """Binary cross-entropy: the baseline; choose it where labels are balanced or training is long.

    ``mean over i, c of softplus(z) - y * z`` (eq. 1).

    Shapes: logits and targets B x C, targets in [0, 1]; value scalar.

    >>> BinaryCrossEntropyLoss()(torch.zeros(2, 3), torch.ones(2, 3)).item()
    0.6931...
    """

    name = "bce"
    title = "Binary cross-entropy"
    choose_when = "the reference, and a good one where labels are balanced or training is long"
    paper = f"{BALANCED}, eq. 1"
    formula = r"""L &= \frac{1}{BC} \sum_{i,c}
\bigl( \operatorname{softplus}(z_{ic}) - y_{ic} z_{ic} \bigr)"""
    accepts_soft_targets = True

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents x labels."""
        return F.binary_cross_entropy_with_logits(logits, targets)


class FocalLoss(Loss):
    """Focal loss: down-weights easy entries; choose it where most entries are easy negatives.

    ``mean over i, c of (1 - p_t)^gamma * bce(z, y)`` (eq. 2). The focal factor is part of the
    gradient.

    Shapes: logits and targets B x C, targets 0 or 1; value scalar.

    >>> FocalLoss()(torch.zeros(2, 3), torch.ones(2, 3)).item()  # ln 2 / 4
    0.1732...
    """

    name = "focal"
    title = "Focal loss"
    choose_when = "most entries are easy negatives"
    paper = f"{BALANCED}, eq. 2"
    formula = r"""L &= \frac{1}{BC} \sum_{i,c} (1 - p^t_{ic})^{\gamma}
\operatorname{bce}(z_{ic}, y_{ic}) \\
p^t_{ic} &= p_{ic} \text{ for positives}, \ 1 - p_{ic} \text{ for negatives}"""

    def __init__(self, *, gamma: Gamma = 2.0) -> None:
        super().__init__()
        self.gamma = gamma

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents x labels."""
        return pointwise(logits, targets, gamma=self.gamma)


class SoftmaxCrossEntropyLoss(Loss):
    """Softmax cross-entropy; choose it where documents have exactly one label.

    ``mean_i -sum_j t_ij log softmax(z_i)_j``.

    Shapes: logits and targets B x C, targets one-hot or soft; value scalar.

    >>> SoftmaxCrossEntropyLoss()(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]])).item()
    0.6931...
    """

    name = "ce"
    title = "Softmax cross-entropy"
    choose_when = "documents have exactly one label"
    paper = "-"
    formula = r"L &= -\frac{1}{B} \sum_{i,j} t_{ij} \log \operatorname{softmax}(z_i)_j"
    tasks = ("single",)
    accepts_soft_targets = True

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents."""
        return F.cross_entropy(logits, targets)

    def scores(self, logits: Tensor) -> Tensor:
        """Softmax: the largest one decides."""
        return torch.softmax(logits, dim=1)

    def divergence(self, first: Tensor, second: Tensor) -> Tensor:
        """Symmetric KL of the softmax distributions."""
        return softmax_divergence(first, second)
