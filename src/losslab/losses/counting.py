"""Cross-entropies that count: how many labels a document has, how often a label was seen lately.

The baselines "CE+N" and "CE+T" of Benedict et al. 2021 (sigmoidF1).
"""

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from losslab.losses.base import Context, Loss, RandomLoss
from losslab.losses.spec import LabelStatistics

POSITIVE_WEIGHT = 12.0
SELECTION_RATE = 0.3


class CountLoss(Loss):
    """CE+N: cross-entropy plus the squared error in the number of labels of a document.

    ``bce mean + weight * mean_i (sum_j p_ij - n_i)^2 / C`` (eq. 2); ``per_label=False`` leaves the C
    out. The printed term has no gradient and the wrong sign; this is a reading of it that trains.

    >>> CountLoss(weight=0.1, per_label=True)(torch.zeros(1, 2), torch.ones(1, 2)).item()
    0.743...
    """

    def __init__(
        self, statistics: LabelStatistics | None = None, *, weight: float, per_label: bool
    ) -> None:
        super().__init__()
        self.weight, self.per_label = weight, per_label

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents x labels, plus the term's mean over documents."""
        surplus = torch.sigmoid(logits).sum(dim=1) - targets.sum(dim=1)
        term = surplus.square().mean() / (logits.shape[1] if self.per_label else 1)
        return F.binary_cross_entropy_with_logits(logits, targets) + self.weight * term


class TencentLoss(RandomLoss):
    """CE+T: cross-entropy whose weight on a label fades while nothing new is seen of it.

    ``sum_c coef_c * mean_rows(12 y softplus(-z) + (1-y) softplus(z))``, as the code of Tencent
    ML-Images has it. A label with a positive in the batch: t batches in a row had one,
    ``coef = max(0.01, log10(10 / (0.01 + t)))``. One without is selected with probability 0.3, else
    coef 0; t batches since its last positive selected it, ``coef = log10(10 / (8 + t))``, or 0.001
    where that is at most 0.01. ``context["selected"]`` (labels) gives the selection. In evaluation
    mode all are selected and the counters stand still.
    """

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
                raise ValueError(f"{self.name}: context['selected'] must hold one figure per label")
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
