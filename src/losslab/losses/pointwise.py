"""The pointwise family: a weighted, focused cross-entropy per entry, mean over all entries.

Symbols of Huang et al. 2021: z ``logits``, y ``targets``, n_c ``frequencies``, D ``documents``,
lambda ``negative_scale``; gamma, kappa, alpha, beta and mu keep their names.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from losslab.losses.checks import check_batch
from losslab.losses.spec import LabelStatistics

Context = Mapping[str, Any]
SMALLEST_FOCUS = 1e-8  # below it, gamma in (0, 1) has an infinite gradient


def pointwise(
    logits: Tensor,
    targets: Tensor,
    *,
    gamma: float = 0.0,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    negative_scale: float = 1.0,
) -> Tensor:
    """Entry by entry ``w * (1 - p_t)^gamma * bce(u, y)``, negatives divided by ``negative_scale``.

    ``u = z - bias`` for positives and ``negative_scale * (z - bias)`` for negatives;
    ``p_t = exp(-bce(u, y))``. Targets are 0 or 1.

    >>> pointwise(torch.tensor([[0.0]]), torch.tensor([[1.0]])).item()  # ln 2
    0.6931...
    """
    shifted = logits if bias is None else logits - bias
    positive = targets > 0
    wrongness = torch.where(positive, -shifted, negative_scale * shifted)
    entry = F.softplus(wrongness)
    if gamma > 0:
        focus = torch.sigmoid(wrongness)
        entry = entry * (focus if gamma >= 1 else focus.clamp_min(SMALLEST_FOCUS)) ** gamma
    if weight is not None:
        entry = entry * weight
    return entry if negative_scale == 1.0 else torch.where(positive, entry, entry / negative_scale)


@torch.no_grad()
def rebalanced_weight(
    targets: Tensor, inverse_frequencies: Tensor, *, alpha: float, beta: float, mu: float
) -> Tensor:
    """The weight ``alpha + sigmoid(beta * (r - mu))``, ``r_c = (1/n_c) / sum over P of 1/n_k``.

    A row without positives has an infinite r and the weight ``1 + alpha``. No gradient flows.
    """
    total = (targets @ inverse_frequencies).unsqueeze(1)
    ratio = inverse_frequencies / total.clamp_min(torch.finfo(total.dtype).tiny)
    return alpha + torch.where(total > 0, torch.sigmoid(beta * (ratio - mu)), 1.0)


def clamped_frequencies(statistics: LabelStatistics) -> tuple[Tensor, int]:
    """Frequencies in [1, D - 1] and D >= 2, so that every logarithm and ratio is finite."""
    documents = max(statistics.documents, 2)
    frequencies = torch.tensor(statistics.frequencies, dtype=torch.float64)
    return frequencies.clamp(1, documents - 1), documents


class BinaryCrossEntropy(nn.Module):
    """Binary cross-entropy: the reference, best where labels are many and balanced.

    ``mean over i, c of softplus(z) - y * z`` (eq. 1). Takes soft targets.

    >>> BinaryCrossEntropy()(torch.zeros(2, 3), torch.ones(2, 3)).item()
    0.6931...
    """

    def __init__(self, statistics: LabelStatistics | None = None) -> None:
        super().__init__()

    def forward(self, logits: Tensor, targets: Tensor, context: Context | None = None) -> Tensor:
        """Mean over documents x labels; ``targets`` in [0, 1]."""
        logits, targets = check_batch("bce", logits, targets, soft=True)
        return F.binary_cross_entropy_with_logits(logits, targets)


class FocalLoss(nn.Module):
    """Focal loss: binary cross-entropy with easy entries turned down.

    ``mean of (1 - p_t)^gamma * bce(z, y)`` (eq. 2), the focal factor part of the gradient.
    The authors' code multiplies it by a constant; we follow the equation.

    >>> FocalLoss(gamma=2.0)(torch.zeros(2, 3), torch.ones(2, 3)).item()  # ln 2 / 4
    0.1732...
    """

    def __init__(self, statistics: LabelStatistics | None = None, *, gamma: float) -> None:
        super().__init__()
        self.gamma = gamma

    def forward(self, logits: Tensor, targets: Tensor, context: Context | None = None) -> Tensor:
        """Mean over documents x labels; ``targets`` 0 or 1."""
        logits, targets = check_batch("focal", logits, targets, soft=False)
        return pointwise(logits, targets, gamma=self.gamma).mean()


class DistributionBalancedLoss(nn.Module):
    """Distribution-balanced loss: for long tails whose rare labels come along with common ones.

    Rebalanced weights undo the oversampling of co-occurring labels, negative-tolerant
    regularisation (bias ``v_c = kappa * log(D/n_c - 1)``, negatives scaled by lambda) keeps the
    many negatives of a rare label from drowning its positives, and the focal factor does the rest
    (eq. 5 to 8). The bias and scale are for training only: prediction uses ``sigmoid(z)``.
    The authors' code multiplies the value by a constant; we follow the equation.

    >>> statistics = LabelStatistics(frequencies=[90, 10], documents=100, mu=0.5)
    >>> options = dict(gamma=2.0, alpha=0.1, beta=10.0, mu="auto", kappa=0.05, negative_scale=2.0)
    >>> loss = DistributionBalancedLoss(statistics, **options)
    >>> loss(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]])).item()
    0.1102...
    """

    bias: Tensor
    inverse_frequencies: Tensor

    def __init__(
        self,
        statistics: LabelStatistics,
        *,
        gamma: float,
        alpha: float,
        beta: float,
        mu: float | str,
        kappa: float,
        negative_scale: float,
    ) -> None:
        super().__init__()
        self.gamma = gamma
        self.rebalancing = {"alpha": alpha, "beta": beta, "mu": resolve_mu("db", mu, statistics)}
        self.negative_scale = negative_scale
        frequencies, documents = clamped_frequencies(statistics)
        bias = kappa * torch.log(documents / frequencies - 1)
        self.register_buffer("bias", bias, persistent=False)
        self.register_buffer("inverse_frequencies", 1 / frequencies, persistent=False)

    def forward(self, logits: Tensor, targets: Tensor, context: Context | None = None) -> Tensor:
        """Mean over documents x labels; ``targets`` 0 or 1."""
        logits, targets = check_batch("db", logits, targets, soft=False, labels=len(self.bias))
        inverse_frequencies = self.inverse_frequencies.to(logits.dtype)
        entries = pointwise(
            logits,
            targets,
            gamma=self.gamma,
            weight=rebalanced_weight(targets, inverse_frequencies, **self.rebalancing),
            bias=self.bias.to(logits.dtype),
            negative_scale=self.negative_scale,
        )
        return entries.mean()


def resolve_mu(name: str, mu: float | str, statistics: LabelStatistics) -> float:
    """The number ``mu`` stands for: itself, or the figure the statistics carry for ``auto``."""
    if not isinstance(mu, str):
        return mu
    if statistics.mu is None:
        raise ValueError(
            f"{name}: mu='auto' needs LabelStatistics(..., mu=...), as "
            "losslab.targets.rebalancing_mu computes it from the training label sets"
        )
    return statistics.mu
