"""Losses with priors: label frequencies say what a model should expect, or how much went unmarked.

n_c ``statistics.frequencies``, N ``statistics.documents``, pi_c = n_c / N. Decisions are made by
sigmoid(z).
"""

from math import log
from typing import Annotated

import torch
from torch import Tensor

from losslab.losses.balanced import clamped_frequencies
from losslab.losses.base import Context, Loss
from losslab.losses.cross_entropy import pointwise
from losslab.losses.hyperparameters import Option
from losslab.losses.label_statistics import LabelStatistics

ADJUSTMENT = "Menon et al. 2021, Long-tail Learning via Logit Adjustment"
PROPENSITY = "Qaraei et al. 2021, Convex Surrogates for Unbiased Loss Functions"
JAIN = "Jain et al. 2016, as on most corpora"


class LogitAdjustedLoss(Loss):
    """Logit-adjusted cross-entropy: the prior is added in training and left out in prediction; choose
    it where rare labels should be predicted as readily as common ones.

    ``mean of bce(z + tau * logit(pi_c), y)``, the paper's softmax loss (eq. 10) for one sigmoid per
    label. At tau = 0 it is ``bce``. The bias of ``ntr_focal`` is the same at kappa = tau: without its
    focus and scale, the two are one loss.

    Shapes: logits and targets B x C, targets 0 or 1, C frequencies; value scalar.

    >>> loss = LogitAdjustedLoss(LabelStatistics([25], documents=100))
    >>> loss(torch.zeros(1, 1), torch.ones(1, 1)).item()  # ln 4
    1.386...
    """

    name = "la_bce"
    title = "Logit-adjusted cross-entropy"
    choose_when = "rare labels should be predicted as readily as common ones"
    paper = f"{ADJUSTMENT}, eq. 10"
    formula = r"""L &= \frac{1}{BC} \sum_{i,c}
\operatorname{bce} \Bigl( z_{ic} + \tau \log \frac{\pi_c}{1 - \pi_c}, y_{ic} \Bigr),
\quad \pi_c = \frac{n_c}{N}"""
    needs = ("statistics",)

    def __init__(
        self,
        statistics: LabelStatistics,
        *,
        tau: Annotated[float, Option("section 6: tau = 1", minimum=0, search=(0, 2))] = 1.0,
    ) -> None:
        super().__init__()
        self.labels = len(statistics.frequencies)
        frequencies, documents = clamped_frequencies(statistics)
        self.keep(bias=-tau * torch.logit(frequencies / documents))

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents x labels."""
        return pointwise(logits, targets, bias=self.constant("bias", logits))


class PropensityScoredLoss(Loss):
    """Propensity-scored cross-entropy: positives count for those nobody marked; choose it where labels
    are many and the rarer one is, the more often it is missing.

    ``mean of (2 / prop_c - 1) * softplus(-z)`` over positives and ``softplus(z)`` over negatives, the
    convex upper bound of the unbiased loss; ``1 / prop_c = 1 + K (n_c + B)^-A``,
    ``K = (ln N - 1) (B + 1)^A``. ln N is taken as at least 1, so that no propensity is above 1. The
    paper's code sums over entries.

    Shapes: logits and targets B x C, targets 0 or 1, C frequencies; value scalar.

    >>> loss = PropensityScoredLoss(LabelStatistics([1, 999], documents=1000))
    >>> loss(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]])).item()  # (1 + 2 * 5.907 + 1) / 2 * ln 2
    4.788...
    """

    name = "ps_bce"
    title = "Propensity-scored cross-entropy"
    choose_when = "labels are many, and the rarer one is, the more often it is missing"
    paper = PROPENSITY
    formula = r"""L &= \frac{1}{BC} \sum_{i,c} \begin{cases}
(2 / \rho_c - 1) \operatorname{softplus}(-z_{ic}) & y_{ic} = 1 \\
\operatorname{softplus}(z_{ic}) & y_{ic} = 0 \end{cases} \\
\frac{1}{\rho_c} &= 1 + (\ln N - 1) \left( \frac{b + 1}{n_c + b} \right)^a"""
    needs = ("statistics",)

    def __init__(
        self,
        statistics: LabelStatistics,
        *,
        a: Annotated[float, Option(f"{JAIN}: A", minimum=0, maximum=10, search=(0.3, 1))] = 0.55,
        b: Annotated[float, Option(f"{JAIN}: B", minimum=0, search=(0.3, 3))] = 1.5,
    ) -> None:
        super().__init__()
        self.labels = len(statistics.frequencies)
        frequencies, documents = clamped_frequencies(statistics)
        inverse = 1 + (max(log(documents), 1.0) - 1) * ((b + 1) / (frequencies + b)) ** a
        self.keep(weights=2 * inverse - 1)

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents x labels."""
        weight = torch.where(targets > 0, self.constant("weights", logits), 1.0)
        return pointwise(logits, targets, weight=weight)
