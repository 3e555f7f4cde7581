"""Balanced losses: label weights and negative tolerance on top of the pointwise family.

Symbols of Huang et al. 2021: n_c ``frequencies``, D ``documents``, lambda ``negative_scale``; gamma,
kappa, alpha, beta and mu keep their names. All predict with ``sigmoid(z)``: bias and scale are for
training only. The authors' code multiplies these losses by constants (0.5, 5, ...); we follow the
equations.
"""

from typing import Any

import torch
from torch import Tensor

from losslab.losses.base import Context, Loss
from losslab.losses.pointwise import pointwise
from losslab.losses.spec import LabelStatistics


@torch.no_grad()
def rebalanced_weight(
    targets: Tensor, inverse_frequencies: Tensor, *, alpha: float, beta: float, mu: float
) -> Tensor:
    """The weight ``alpha + sigmoid(beta * (r - mu))``, ``r_c = (1/n_c) / sum over P of 1/n_k``.

    A row without positives has an infinite r and the weight ``1 + alpha``.
    """
    total = (targets @ inverse_frequencies).unsqueeze(1)
    ratio = inverse_frequencies / total.clamp_min(torch.finfo(total.dtype).tiny)
    weight = ratio.sub_(mu).mul_(beta).sigmoid_()
    return weight.masked_fill_(total == 0, 1.0).add_(alpha)


def clamped_frequencies(statistics: LabelStatistics) -> tuple[Tensor, int]:
    """Frequencies in [1, D - 1] and D >= 2, so that every logarithm and ratio is finite."""
    documents = max(statistics.documents, 2)
    frequencies = torch.tensor(statistics.frequencies, dtype=torch.float64)
    return frequencies.clamp(1, documents - 1), documents


class WeightedFocalLoss(Loss):
    """The balanced losses: label weights, negative-tolerant regularisation and focal factor.

    Subclasses choose; what they leave out has no effect (weight 1, bias 0, scale 1, gamma 0).
    Negative-tolerant regularisation: bias ``v_c = kappa * log(D/n_c - 1)``, negatives scaled by
    lambda (eq. 6, 7), so that the many negatives of a rare label do not drown its positives.
    """

    def __init__(
        self,
        statistics: LabelStatistics,
        *,
        gamma: float = 0.0,
        kappa: float = 0.0,
        negative_scale: float = 1.0,
        ntr_negative_scale: str = "paper",
    ) -> None:
        super().__init__()
        self.labels = len(statistics.frequencies)
        self.options: dict[str, Any] = {
            "gamma": gamma,
            "negative_scale": negative_scale,
            "divide_negatives": ntr_negative_scale == "paper",
        }
        frequencies, documents = clamped_frequencies(statistics)
        self.biased = kappa > 0
        bias = kappa * torch.log(documents / frequencies - 1)
        self.keep(bias=bias, inverse_frequencies=1 / frequencies)

    def weight(self, targets: Tensor) -> Tensor | None:
        """Documents x labels, or labels, or nothing."""
        return None

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents x labels."""
        bias = self.constant("bias", logits) if self.biased else None
        return pointwise(logits, targets, weight=self.weight(targets), bias=bias, **self.options)


class ClassBalancedLoss(WeightedFocalLoss):
    """Class-balanced weights: rare labels count more, by the effective number of their documents.

    ``w_c = (1 - beta) / (1 - beta^n_c)`` (eq. 3, 4), focal factor; with kappa and lambda it is
    ``cb_ntr``. Choose it where labels are rare but do not come along with common ones.

    >>> statistics = LabelStatistics(frequencies=[90, 1], documents=100)
    >>> loss = ClassBalancedLoss(statistics, beta=0.9, gamma=0.0)
    >>> loss(torch.zeros(1, 2), torch.zeros(1, 2)).item()  # (0.1 + 1) / 2 * ln 2
    0.381...
    """

    def __init__(self, statistics: LabelStatistics, *, beta: float, **options: float) -> None:
        super().__init__(statistics, **options)  # type: ignore[arg-type]
        frequencies, _ = clamped_frequencies(statistics)
        self.keep(weights=(1 - beta) / (1 - beta**frequencies))

    def weight(self, targets: Tensor) -> Tensor:
        """One weight per label."""
        return self.constant("weights", targets)


class DistributionBalancedLoss(WeightedFocalLoss):
    """Distribution-balanced loss: for long tails whose rare labels come along with common ones.

    Rebalanced weights (eq. 5) undo the oversampling of co-occurring labels; with all parts on it is
    ``db`` (eq. 8), without the focal factor ``db_0fl``, without negative tolerance ``rfl``.

    >>> statistics = LabelStatistics(frequencies=[90, 10], documents=100, mu=0.5)
    >>> options = dict(gamma=2.0, alpha=0.1, beta=10.0, mu="auto", kappa=0.05, negative_scale=2.0)
    >>> loss = DistributionBalancedLoss(statistics, **options)
    >>> loss(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]])).item()
    0.1102...
    """

    def __init__(
        self,
        statistics: LabelStatistics,
        *,
        alpha: float,
        beta: float,
        mu: float | str,
        **options: float,
    ) -> None:
        super().__init__(statistics, **options)  # type: ignore[arg-type]
        self.rebalancing = {"alpha": alpha, "beta": beta, "mu": resolve_mu(mu, statistics)}

    def weight(self, targets: Tensor) -> Tensor:
        """One weight per document and label."""
        inverse_frequencies = self.constant("inverse_frequencies", targets)
        return rebalanced_weight(targets, inverse_frequencies, **self.rebalancing)


def resolve_mu(mu: float | str, statistics: LabelStatistics) -> float:
    """The number ``mu`` stands for: itself, or the figure the statistics carry for ``auto``."""
    if not isinstance(mu, str):
        return mu
    if statistics.mu is None:
        raise ValueError(
            "mu='auto' needs LabelStatistics(..., mu=...), as "
            "losslab.supervision.rebalancing_mu computes it from the training label sets"
        )
    return statistics.mu
