"""ZLPR and its kin: positives above a threshold score, negatives below it (Su et al. 2022).

s ``logits``, s_0 ``s0``, t ``targets``; probabilities are ``sigmoid(2 (s - s_0))`` (eq. 35).
"""

import torch
from torch import Tensor, nn

from losslab.losses.base import Context, Loss, with_gradient
from losslab.losses.divergence import bernoulli_divergence, symmetric_divergence
from losslab.losses.logsumexp import weighted_logsumexp
from losslab.losses.spec import LabelStatistics


def threshold_ranking(logits: Tensor, targets: Tensor, s0: Tensor | float = 0.0) -> Tensor:
    """``lse(-s_0, -s_P) + lse(s_0, s_N)`` per document (eq. 6; eq. 1 at s_0 = 0).

    Soft targets t weigh the terms by t and 1 - t (eq. 31), which hard ones are a case of.

    >>> threshold_ranking(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]])).item()  # 2 ln 2
    1.386...
    """
    scores = logits - s0  # the thresholds' own terms cancel: only the distance counts
    with torch.no_grad():
        below, fall = weighted_logsumexp(-scores, targets, anchor=True)
        above, rise = weighted_logsumexp(scores, 1 - targets, anchor=True)
    return with_gradient(scores, below + above, rise.sub_(fall))


def zlpr_divergence(first: Tensor, second: Tensor) -> Tensor:
    """KL of the label distributions that two score vectors stand for, per document (eq. 36)."""
    return bernoulli_divergence(first, second, scale=2.0)


def zlpr_symmetric_divergence(first: Tensor, second: Tensor) -> Tensor:
    """``D = sum of 2 (q - q')(s - s')``, ``q = sigmoid(2 s)``, per document (eq. 37)."""
    return symmetric_divergence(first, second, scale=2.0)


class _ZlprScores(Loss):
    """Losses whose label probability is ``sigmoid(2 s)``, up to a threshold score."""

    def scores(self, logits: Tensor) -> Tensor:
        """``sigmoid(2 s)``: above 0.5 where s > 0."""
        return torch.sigmoid(2 * logits)

    def divergence(self, first: Tensor, second: Tensor) -> Tensor:
        """Eq. 37."""
        return zlpr_symmetric_divergence(first, second)


class ZlprLoss(_ZlprScores):
    """ZLPR: one sum over positives, one over negatives; label imbalance does not drown the positives.

    ``lse(0, -s_P) + lse(0, s_N)``, mean over documents (eq. 1). As ``soft_zlpr`` it takes soft
    targets: ``lse(0, -s + log t) + lse(0, s + log(1-t))`` (eq. 31).

    >>> ZlprLoss()(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]])).item()  # 2 ln 2
    1.386...
    """

    def __init__(self, statistics: LabelStatistics | None = None) -> None:
        super().__init__()

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents."""
        return threshold_ranking(logits, targets).mean()


class TlprLoss(_ZlprScores):
    """TLPR: ZLPR with a threshold score that is learned with the model (eq. 6).

    ``s0`` starts as given; :meth:`scores` uses where it ended. What is learned is the move away
    from the start.
    """

    def __init__(self, statistics: LabelStatistics | None = None, *, s0: float) -> None:
        super().__init__()
        self.start = float(s0)
        self.move = nn.Parameter(torch.zeros(()))

    def s0(self, like: Tensor) -> Tensor:
        """The threshold score as it is now."""
        return self.start + self.move.to(like.dtype)

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents."""
        return threshold_ranking(logits, targets, self.s0(logits)).mean()

    def scores(self, logits: Tensor) -> Tensor:
        """``sigmoid(2 (s - s_0))``."""
        return torch.sigmoid(2 * (logits - self.s0(logits)))


class ZlprRdropLoss(ZlprLoss):
    """ZLPR with R-Drop: two dropout passes of a batch must agree (eq. 36, 37).

    ``(zlpr(s) + zlpr(s')) / 2 + weight * D(s, s') / 2``, mean over documents; s' is
    ``context["second_logits"]``. In evaluation mode there is no dropout, and it may be left out.
    """

    def __init__(self, statistics: LabelStatistics | None = None, *, weight: float) -> None:
        super().__init__()
        self.weight = weight

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents."""
        if "second_logits" not in context and not self.training:
            return super().compute(logits, targets, context)
        second = self.demand(context, "second_logits", logits)
        both = threshold_ranking(logits, targets) + threshold_ranking(second, targets)
        disagreement = zlpr_symmetric_divergence(logits, second)
        return (both + self.weight * disagreement).mean() / 2
