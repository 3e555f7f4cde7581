"""Polynomial losses: the first terms of the logarithm's series at coefficients of their own.

``-log p = (1-p) + (1-p)^2 / 2 + ...``; p = sigmoid(z), e1 ``epsilon1`` and e2 ``epsilon2`` lower the
first coefficients for positives. Negatives are those of the asymmetric loss, m ``clip``,
gamma- ``gamma_neg``.
"""

from typing import Annotated

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from losslab.losses.asymmetric import clipped_negatives
from losslab.losses.base import Context, Loss
from losslab.losses.cross_entropy import two_sided
from losslab.losses.hyperparameters import Option
from losslab.losses.partial_labels import Steepness, hill_entries

APL = "Huang et al. 2023, Asymmetric Polynomial Loss for Multi-Label Classification"
RAL = "Park et al. 2023, Robust Asymmetric Loss for Multi-Label Long-Tailed Learning"
CODE = "the authors' code"
Epsilon1 = Annotated[
    float, Option(f"{CODE}; above 1 the term is negative", -100, 1, search=(-2, 1))
]
Epsilon2 = Annotated[
    float, Option(f"{CODE}; above 1 the term is negative", -100, 1, search=(-5, 1))
]
GammaNeg = Annotated[float, Option(CODE, minimum=0, search=(0, 8))]
Clip = Annotated[float, Option(CODE, minimum=0, maximum=0.999, search=(0, 0.3))]


def polynomial_entries(logits: Tensor, epsilon1: float, epsilon2: float) -> tuple[Tensor, Tensor]:
    """``-[log p + e1 (1-p) + e2/2 (1-p)^2]`` and its slope ``-(1-p) (1 - p (e1 + e2 (1-p)))``."""
    negated = -logits
    entries, miss = F.softplus(negated), negated.sigmoid_()
    entries.sub_((epsilon2 / 2 * miss).add_(epsilon1).mul_(miss))
    slopes = (epsilon2 * miss).add_(epsilon1).mul_(1 - miss).sub_(1).mul_(miss)
    return entries, slopes


class _PolynomialLoss(Loss):
    """Positives by the polynomial, negatives by the asymmetric loss."""

    def __init__(self, *, epsilon1: float, epsilon2: float, gamma_neg: float, clip: float) -> None:
        super().__init__()
        self.epsilons, self.gamma_neg, self.clip = (epsilon1, epsilon2), gamma_neg, clip

    def negatives(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """Entries of negatives, and their slopes."""
        return clipped_negatives(logits, self.gamma_neg, self.clip)

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents x labels."""
        with torch.no_grad():
            positives = polynomial_entries(logits, *self.epsilons)
            negatives = self.negatives(logits)
        return two_sided(logits, targets > 0, positives, negatives)


class AsymmetricPolynomialLoss(_PolynomialLoss):
    """Asymmetric polynomial loss: ``asl`` with two coefficients of its positives free; choose it as
    ``asl``, where there is time to tune two numbers more.

    ``mean of -[log p + e1 (1-p) + e2/2 (1-p)^2]`` over positives and ``q^gamma_neg * -log(1-q)`` over
    negatives, ``q = max(p - clip, 0)``; at e1 = e2 = 0 it is ``asl``. The focal factor is part of the
    gradient; the authors' code detaches it by default, and sums over entries.

    Shapes: logits and targets B x C, targets 0 or 1; value scalar.

    >>> AsymmetricPolynomialLoss()(torch.zeros(1, 1), torch.ones(1, 1)).item()  # ln 2 - 1/2 + 5/16
    0.5056...
    """

    name = "apl"
    title = "Asymmetric polynomial loss"
    choose_when = "as for asl, where there is time to tune two numbers more"
    paper = APL
    formula = r"""L &= \frac{1}{BC} \sum_{i,c} \begin{cases}
-\log p_{ic} - \varepsilon_1 (1 - p_{ic}) - \frac{\varepsilon_2}{2} (1 - p_{ic})^2 & y_{ic} = 1 \\
-q_{ic}^{\gamma_-} \log (1 - q_{ic}) & y_{ic} = 0 \end{cases} \\
q_{ic} &= \max (p_{ic} - m, 0)"""

    def __init__(
        self,
        *,
        epsilon1: Epsilon1 = 1.0,
        epsilon2: Epsilon2 = -2.5,
        gamma_neg: GammaNeg = 4.0,
        clip: Clip = 0.05,
    ) -> None:
        super().__init__(epsilon1=epsilon1, epsilon2=epsilon2, gamma_neg=gamma_neg, clip=clip)


class RobustAsymmetricLoss(_PolynomialLoss):
    """Robust asymmetric loss: ``apl`` with the hill on its negatives; choose it as ``apl``, where
    untuned hyperparameters should do less harm and labels are missing.

    Positives as :class:`AsymmetricPolynomialLoss`; negatives ``q^gamma_neg * -log(1-q) * (lambda - p)
    * p^2``, ``q = max(p - clip, 0)``. The authors' code has one factor more on negatives,
    ``lambda - (1 - q)``, which falls from lambda - clip to lambda - 1 as p goes to 0, where negatives
    cost nothing anyway; and it sums over entries.

    Shapes: logits and targets B x C, targets 0 or 1; value scalar.

    >>> loss = RobustAsymmetricLoss()
    >>> loss(torch.zeros(1, 1), torch.zeros(1, 1)).item()  # 0.45^4 * -ln 0.55 * 0.25
    0.0061...
    """

    name = "ral"
    title = "Robust asymmetric loss"
    choose_when = "as for apl, where hyperparameters are untuned and labels are missing"
    paper = RAL
    formula = r"""L &= \frac{1}{BC} \sum_{i,c} \begin{cases}
-\log p_{ic} - \varepsilon_1 (1 - p_{ic}) - \frac{\varepsilon_2}{2} (1 - p_{ic})^2 & y_{ic} = 1 \\
-(\lambda - p_{ic})\, p_{ic}^2\, q_{ic}^{\gamma_-} \log (1 - q_{ic}) & y_{ic} = 0 \end{cases} \\
q_{ic} &= \max (p_{ic} - m, 0)"""

    def __init__(
        self,
        *,
        epsilon1: Epsilon1 = 1.0,
        epsilon2: Epsilon2 = -2.5,
        gamma_neg: GammaNeg = 4.0,
        clip: Clip = 0.05,
        level: Steepness = 1.5,
    ) -> None:
        super().__init__(epsilon1=epsilon1, epsilon2=epsilon2, gamma_neg=gamma_neg, clip=clip)
        self.level = level

    def negatives(self, logits: Tensor) -> tuple[Tensor, Tensor]:
        """The product of both factors, and its slope."""
        entries, slopes = super().negatives(logits)
        hill, rise = hill_entries(logits, self.level)
        slopes.mul_(hill).addcmul_(entries, rise)
        return entries.mul_(hill), slopes
