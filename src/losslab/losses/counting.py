"""Counting cross-entropies: how many labels a document has, how often a label was seen lately.

The baselines "CE+N" and "CE+T" of Benedict et al. 2021 (sigmoidF1). z ``logits``, y ``targets``,
p = sigmoid(z), n_i the number of labels of a document, lambda ``weight``.
"""

from typing import Annotated

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from losslab.losses.base import Context, Loss, RandomLoss
from losslab.losses.f1 import SIGMOID_F1
from losslab.losses.hyperparameters import Option
from losslab.losses.label_statistics import LabelStatistics

POSITIVE_WEIGHT = 12.0
SELECTION_RATE = 0.3


class LabelCountLoss(Loss):
    """CE+N loss: cross-entropy plus the squared error in the number of labels; choose it where the
    number of labels per document should come out right.

    ``bce mean + lambda * mean_i (sum_j p_ij - n_i)^2 / C`` (eq. 2); ``per_label=False`` leaves the C
    out. The printed term has no gradient and the wrong sign; this is a reading of it that trains.

    Shapes: logits and targets B x C, targets in [0, 1]; value scalar.

    >>> LabelCountLoss()(torch.zeros(1, 2), torch.ones(1, 2)).item()
    0.743...
    """

    name = "ce_count"
    title = "Cross-entropy and label count"
    choose_when = "the number of labels per document should come out right"
    paper = f"{SIGMOID_F1}, eq. 2"
    formula = r"""L &= \operatorname{bce} + \frac{\lambda}{BC} \sum_i
\Bigl( \sum_j p_{ij} - n_i \Bigr)^2"""
    accepts_soft_targets = True

    def __init__(
        self,
        *,
        weight: Annotated[
            float,
            Option(
                "our choice: eq. 2 leaves lambda open; small beside bce",
                minimum=0,
                search=(0.001, 1),
                log=True,
            ),
        ] = 0.1,
        per_label: Annotated[
            bool, Option("our choice: the term's size does not grow with C")
        ] = True,
    ) -> None:
        super().__init__()
        self.weight, self.per_label = weight, per_label

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents x labels, plus the term's mean over documents."""
        surplus = torch.sigmoid(logits).sum(dim=1) - targets.sum(dim=1)
        term = surplus.square().mean() / (logits.shape[1] if self.per_label else 1)
        return F.binary_cross_entropy_with_logits(logits, targets) + self.weight * term


class TencentLoss(RandomLoss):
    """CE+T loss: cross-entropy whose weight on a label fades while nothing new is seen of it; choose
    it where batches rarely hold a label, and its negatives should not add up.

    ``sum_c coef_c * mean_i (12 y softplus(-z) + (1-y) softplus(z))``, as the code of Tencent
    ML-Images (Wu et al. 2019) has it; the sigmoidF1 paper names it without an equation. A label with
    a positive in the batch: t batches in a row had one, ``coef = max(0.01, log10(10 / (0.01 + t)))``.

    One without is selected with probability 0.3, else coef 0; t batches since its last positive
    selected it, ``coef = log10(10 / (8 + t))``, or 0.001 where that is at most 0.01.
    ``context["selected"]`` (C booleans) gives the selection. In evaluation mode all labels are
    selected and the counters stand still.

    Shapes: logits and targets B x C, targets 0 or 1; value scalar.

    >>> loss = TencentLoss(LabelStatistics([1], documents=2)).eval()
    >>> loss(torch.zeros(1, 1), torch.ones(1, 1)).item()  # 12 ln 2 * log10(10 / 1.01)
    8.281...
    """

    name = "ce_tencent"
    title = "Cross-entropy, fading weights"
    choose_when = "batches rarely hold a label, and its negatives should not add up"
    paper = f"{SIGMOID_F1}, CE+T; Wu et al. 2019, Tencent ML-Images"
    formula = r"""L &= \sum_c \frac{a_c}{B} \sum_i \bigl( 12\, y_{ic} \operatorname{softplus}(-z_{ic})
+ (1 - y_{ic}) \operatorname{softplus}(z_{ic}) \bigr)"""
    needs = ("statistics",)

    with_positive: Tensor
    without: Tensor

    def __init__(self, statistics: LabelStatistics) -> None:
        super().__init__()
        self.labels = len(statistics.frequencies)
        for name in ("with_positive", "without"):
            self.register_buffer(name, torch.zeros(self.labels, dtype=torch.int64))

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Sum over labels of a mean over documents."""
        present = targets.any(dim=0)
        selected = self._select(context, present)
        in_a_row = torch.where(present, self.with_positive + 1, 0)
        since = torch.where(present, 0, self.without + selected)
        if self.training:
            self.with_positive.copy_(in_a_row)
            self.without.copy_(since)
        coefficients = torch.where(
            present, _fresh(in_a_row, logits.dtype), _stale(since, logits.dtype) * selected
        )
        entries = F.softplus(logits) * (1 - targets)
        entries = entries + POSITIVE_WEIGHT * targets * F.softplus(-logits)
        return (coefficients * entries.mean(dim=0)).sum()

    def _select(self, context: Context, present: Tensor) -> Tensor:
        if "selected" in context:
            selected = torch.as_tensor(context["selected"], device=present.device).bool()
            if selected.shape != present.shape:
                raise ValueError(f"{self.name}: context['selected'] must hold one number per label")
            return selected
        if not self.training:
            return torch.ones_like(present)
        draws = torch.rand(self.labels or 0, generator=self.generator)
        return (draws < SELECTION_RATE).to(present.device)


def _fresh(batches: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.log10(10 / (0.01 + batches.to(dtype))).clamp_min(0.01)


def _stale(batches: Tensor, dtype: torch.dtype) -> Tensor:
    coefficient = torch.log10(10 / (8 + batches.to(dtype)))
    return torch.where(coefficient > 0.01, coefficient, 0.001)
