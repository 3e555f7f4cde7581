"""Balanced losses: label weights and negative-tolerant regularisation on the focal loss.

Symbols of Huang et al. 2021: n_c ``statistics.frequencies``, D ``statistics.documents``, lambda
``negative_scale``; gamma, kappa, alpha, beta and mu keep their names. Decisions are made by
sigmoid(z): bias and scale are for training only. The authors' code multiplies these losses by
constants (0.5, 5, ...); we follow the equations.
"""

from typing import Annotated, Literal

import torch
from torch import Tensor

from losslab.losses.base import Context, Loss
from losslab.losses.cross_entropy import BALANCED, Gamma, pointwise
from losslab.losses.hyperparameters import Option
from losslab.losses.label_statistics import LabelStatistics

EffectiveNumber = Annotated[
    float,
    Option(
        "A.1: both datasets", minimum=0, maximum=0.999999, search=(0.5, 0.9, 0.99, 0.999, 0.9999)
    ),
]
Alpha = Annotated[float, Option("A.1: both datasets", minimum=0, search=(0, 1))]
Beta = Annotated[float, Option("A.1: both datasets", minimum=0, search=(1, 20))]
Mu = Annotated[
    float | Literal["auto"],
    Option(
        "our choice: (mean + median) / 2 of r, close to A.1's 0.9 (Reuters), 0.05 (PubMed)",
        search=(0, 1),
    ),
]
Kappa = Annotated[float, Option("A.1: both datasets", minimum=0, search=(0, 0.5))]
Lambda = Annotated[
    float, Option("A.1: lambda, both datasets", minimum=1e-6, search=(1, 10), log=True)
]

LABEL_WEIGHT = r"w_c &= \frac{1 - \beta}{1 - \beta^{n_c}}"
REBALANCED = r"""w_{ic} &= \alpha + \sigma \bigl( \beta (r_{ic} - \mu) \bigr), \quad
r_{ic} = \frac{1 / n_c}{\sum_{k \in P_i} 1 / n_k}"""
TOLERANT = r"""u_{ic} &= \lambda_{ic} (z_{ic} - v_c), \quad v_c = \kappa \log (D / n_c - 1) \\
\lambda_{ic} &= 1 \text{ for positives}, \ \lambda \text{ for negatives}"""
"""Rows of formulas: the weights of eq. 3 and 5, the logits of eq. 6."""


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


class _BalancedLoss(Loss):
    """What the balanced losses share: a weight per entry, bias, scale and focal factor.

    What a subclass leaves out has no effect: weight 1, bias 0, scale 1, gamma 0.
    """

    needs = ("statistics",)

    def __init__(
        self,
        statistics: LabelStatistics,
        *,
        gamma: float = 0.0,
        kappa: float = 0.0,
        negative_scale: float = 1.0,
        divide_negatives: bool = True,
    ) -> None:
        super().__init__()
        self.labels = len(statistics.frequencies)
        self.gamma, self.negative_scale = gamma, negative_scale
        self.divide_negatives, self.biased = divide_negatives, kappa > 0
        frequencies, documents = clamped_frequencies(statistics)
        bias = kappa * torch.log(documents / frequencies - 1)
        self.keep(bias=bias, inverse_frequencies=1 / frequencies)

    def weight(self, targets: Tensor) -> Tensor | None:
        """Documents x labels, or labels, or nothing."""
        return None

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents x labels."""
        return pointwise(
            logits,
            targets,
            gamma=self.gamma,
            weight=self.weight(targets),
            bias=self.constant("bias", logits) if self.biased else None,
            negative_scale=self.negative_scale,
            divide_negatives=self.divide_negatives,
        )


class _ClassBalanced(_BalancedLoss):
    def weigh_classes(self, statistics: LabelStatistics, beta: float) -> None:
        """Keep ``(1 - beta) / (1 - beta^n_c)`` (eq. 3)."""
        frequencies, _ = clamped_frequencies(statistics)
        self.keep(weights=(1 - beta) / (1 - beta**frequencies))

    def weight(self, targets: Tensor) -> Tensor:
        """One weight per label."""
        return self.constant("weights", targets)


class _Rebalanced(_BalancedLoss):
    def rebalance(
        self, statistics: LabelStatistics, alpha: float, beta: float, mu: float | Literal["auto"]
    ) -> None:
        """Keep what the rebalanced weight depends on."""
        if isinstance(mu, str):
            if statistics.mu is None:
                raise ValueError(
                    f"{self.name}: mu='auto' needs LabelStatistics(..., mu=...), as "
                    "LabelStatistics.from_targets or losslab.supervision.rebalancing_mu computes it"
                )
            mu = statistics.mu
        self.alpha, self.beta, self.mu = alpha, beta, mu

    def weight(self, targets: Tensor) -> Tensor:
        """One weight per document and label."""
        inverse_frequencies = self.constant("inverse_frequencies", targets)
        return rebalanced_weight(
            targets, inverse_frequencies, alpha=self.alpha, beta=self.beta, mu=self.mu
        )


class ClassBalancedLoss(_ClassBalanced):
    """Class-balanced focal loss: weights labels by the effective number of their documents; choose
    it where labels are rare, but seldom co-occur with common ones.

    ``mean of w_c * (1 - p_t)^gamma * bce(z, y)``, ``w_c = (1 - beta) / (1 - beta^n_c)`` (eq. 3, 4).

    Shapes: logits and targets B x C, targets 0 or 1, C frequencies; value scalar.

    >>> loss = ClassBalancedLoss(LabelStatistics(frequencies=[90, 1], documents=100), gamma=0.0)
    >>> loss(torch.zeros(1, 2), torch.zeros(1, 2)).item()  # (0.1 + 1) / 2 * ln 2
    0.381...
    """

    name = "cb"
    title = "Class-balanced focal"
    choose_when = "labels are rare, but seldom co-occur with common ones"
    paper = f"{BALANCED}, eq. 3, 4"
    formula = (
        r"L &= \frac{1}{BC} \sum_{i,c} w_c (1 - p^t_{ic})^{\gamma} "
        r"\operatorname{bce}(z_{ic}, y_{ic}) \\" + LABEL_WEIGHT
    )

    def __init__(
        self, statistics: LabelStatistics, *, gamma: Gamma = 2.0, beta: EffectiveNumber = 0.9
    ) -> None:
        super().__init__(statistics, gamma=gamma)
        self.weigh_classes(statistics, beta)


class RebalancedFocalLoss(_Rebalanced):
    """Rebalanced focal loss: undoes the oversampling of labels that co-occur; choose it where rare
    labels co-occur with common ones.

    ``mean of w * (1 - p_t)^gamma * bce(z, y)``, ``w = alpha + sigmoid(beta * (r - mu))``,
    ``r = (1/n_c) / sum over P of 1/n_k`` (eq. 5). A document without labels has w = 1 + alpha.

    Shapes: logits and targets B x C, targets 0 or 1, C frequencies; value scalar.

    >>> loss = RebalancedFocalLoss(LabelStatistics([90, 10], documents=100, mu=0.5))
    >>> loss(torch.zeros(1, 2), torch.zeros(1, 2)).item()  # 1.1 * ln 2 / 4
    0.1906...
    """

    name = "rfl"
    title = "Rebalanced focal"
    choose_when = "rare labels co-occur with common ones"
    paper = f"{BALANCED}, eq. 5"
    formula = (
        r"L &= \frac{1}{BC} \sum_{i,c} w_{ic} (1 - p^t_{ic})^{\gamma} "
        r"\operatorname{bce}(z_{ic}, y_{ic}) \\" + REBALANCED
    )

    def __init__(
        self,
        statistics: LabelStatistics,
        *,
        gamma: Gamma = 2.0,
        alpha: Alpha = 0.1,
        beta: Beta = 10.0,
        mu: Mu = "auto",
    ) -> None:
        super().__init__(statistics, gamma=gamma)
        self.rebalance(statistics, alpha, beta, mu)


class NegativeTolerantFocalLoss(_BalancedLoss):
    """Negative-tolerant focal loss: scales negatives down and shifts rare labels; choose it where
    rare labels drown in their negatives.

    ``mean of (1 - q_t)^gamma * bce(u, y)``, negatives times ``1/lambda``; ``u = z - v_c`` for
    positives, ``lambda * (z - v_c)`` for negatives, ``v_c = kappa * log(D/n_c - 1)`` (eq. 6, 7).
    ``ntr_negative_scale="code"`` drops the ``1/lambda`` of eq. 6, as the authors' code does.

    Shapes: logits and targets B x C, targets 0 or 1, C frequencies; value scalar.

    >>> loss = NegativeTolerantFocalLoss(LabelStatistics([50, 50], documents=100))
    >>> loss(torch.zeros(1, 2), torch.zeros(1, 2)).item()  # ln 2 / 4 / 2
    0.0866...
    """

    name = "ntr_focal"
    title = "Negative-tolerant focal"
    choose_when = "rare labels drown in their negatives"
    paper = f"{BALANCED}, eq. 6, 7"
    formula = (
        r"L &= \frac{1}{BC} \sum_{i,c} \frac{1}{\lambda_{ic}} (1 - q^t_{ic})^{\gamma} "
        r"\operatorname{bce}(u_{ic}, y_{ic}) \\" + TOLERANT
    )

    def __init__(
        self,
        statistics: LabelStatistics,
        *,
        gamma: Gamma = 2.0,
        kappa: Kappa = 0.05,
        negative_scale: Lambda = 2.0,
        ntr_negative_scale: Annotated[
            Literal["paper", "code"], Option("eq. 6: negatives times 1/lambda")
        ] = "paper",
    ) -> None:
        divide = ntr_negative_scale == "paper"
        super().__init__(
            statistics,
            gamma=gamma,
            kappa=kappa,
            negative_scale=negative_scale,
            divide_negatives=divide,
        )


class DistributionBalancedNoFocalLoss(_Rebalanced):
    """Distribution-balanced loss without the focal factor; choose it as ``db``, where focusing
    hurts, such as with noisy labels.

    ``mean of w * bce(u, y)``, negatives times ``1/lambda`` (eq. 8 at gamma = 0); w as in
    :class:`RebalancedFocalLoss`, u as in :class:`NegativeTolerantFocalLoss`.

    Shapes: logits and targets B x C, targets 0 or 1, C frequencies; value scalar.

    >>> loss = DistributionBalancedNoFocalLoss(LabelStatistics([50, 50], documents=100, mu=0.5))
    >>> loss(torch.zeros(1, 2), torch.zeros(1, 2)).item()  # 1.1 * ln 2 / 2
    0.3812...
    """

    name = "db_0fl"
    title = "Distribution-balanced, no focus"
    choose_when = "as for db, where focusing hurts, such as with noisy labels"
    paper = f"{BALANCED}, eq. 8"
    formula = (
        r"L &= \frac{1}{BC} \sum_{i,c} \frac{w_{ic}}{\lambda_{ic}} \operatorname{bce}(u_{ic}, y_{ic}) \\"
        rf"{REBALANCED} \\ {TOLERANT}"
    )

    def __init__(
        self,
        statistics: LabelStatistics,
        *,
        alpha: Alpha = 0.1,
        beta: Beta = 10.0,
        mu: Mu = "auto",
        kappa: Kappa = 0.05,
        negative_scale: Lambda = 2.0,
    ) -> None:
        super().__init__(statistics, kappa=kappa, negative_scale=negative_scale)
        self.rebalance(statistics, alpha, beta, mu)


class ClassBalancedNTRLoss(_ClassBalanced):
    """Class-balanced focal loss with negative-tolerant regularisation; choose it for a long tail
    where quick results matter: it is steady from the first epochs on.

    ``mean of w_c * (1 - q_t)^gamma * bce(u, y)``, negatives times ``1/lambda``; w_c as in
    :class:`ClassBalancedLoss` (eq. 3), u as in :class:`NegativeTolerantFocalLoss` (eq. 6).

    Shapes: logits and targets B x C, targets 0 or 1, C frequencies; value scalar.

    >>> loss = ClassBalancedNTRLoss(LabelStatistics([1, 1], documents=2))
    >>> loss(torch.zeros(1, 2), torch.zeros(1, 2)).item()  # ln 2 / 4 / 2
    0.0866...
    """

    name = "cb_ntr"
    title = "Class-balanced, negative-tolerant"
    choose_when = "a long tail and quick results matter: steady from the first epochs on"
    paper = f"{BALANCED}, eq. 3, 6"
    formula = (
        r"L &= \frac{1}{BC} \sum_{i,c} \frac{w_c}{\lambda_{ic}} (1 - q^t_{ic})^{\gamma} "
        r"\operatorname{bce}(u_{ic}, y_{ic}) \\" + rf"{LABEL_WEIGHT} \\ {TOLERANT}"
    )

    def __init__(
        self,
        statistics: LabelStatistics,
        *,
        gamma: Gamma = 2.0,
        beta: EffectiveNumber = 0.9,
        kappa: Kappa = 0.05,
        negative_scale: Lambda = 2.0,
    ) -> None:
        super().__init__(statistics, gamma=gamma, kappa=kappa, negative_scale=negative_scale)
        self.weigh_classes(statistics, beta)


class DistributionBalancedLoss(_Rebalanced):
    """Distribution-balanced loss: rebalanced weights, negative tolerance and focal factor; choose it
    where the tail is long and its labels co-occur with common ones.

    ``mean of w * (1 - q_t)^gamma * bce(u, y)``, negatives times ``1/lambda`` (eq. 8); w as in
    :class:`RebalancedFocalLoss`, u as in :class:`NegativeTolerantFocalLoss`.

    Shapes: logits and targets B x C, targets 0 or 1, C frequencies; value scalar.

    >>> loss = DistributionBalancedLoss(LabelStatistics([90, 10], documents=100, mu=0.5))
    >>> loss(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]])).item()
    0.1102...
    """

    name = "db"
    title = "Distribution-balanced focal"
    choose_when = "the tail is long and its labels co-occur with common ones"
    paper = f"{BALANCED}, eq. 8"
    formula = (
        r"L &= \frac{1}{BC} \sum_{i,c} \frac{w_{ic}}{\lambda_{ic}} (1 - q^t_{ic})^{\gamma} "
        r"\operatorname{bce}(u_{ic}, y_{ic}) \\" + rf"{REBALANCED} \\ {TOLERANT}"
    )

    def __init__(
        self,
        statistics: LabelStatistics,
        *,
        gamma: Gamma = 2.0,
        alpha: Alpha = 0.1,
        beta: Beta = 10.0,
        mu: Mu = "auto",
        kappa: Kappa = 0.05,
        negative_scale: Lambda = 2.0,
    ) -> None:
        super().__init__(statistics, gamma=gamma, kappa=kappa, negative_scale=negative_scale)
        self.rebalance(statistics, alpha, beta, mu)
