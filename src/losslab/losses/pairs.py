"""Losses over pairs of a positive and a negative label, none of which needs all pairs in memory.

Su et al. 2022 (ZLPR), eq. 12 and 22 to 24: s_i a positive's, s_j a negative's score, a ``margin``.
None has a natural threshold: decisions compare the scores themselves with one tuned on validation.
"""

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from losslab.losses.base import Context, Loss, RandomLoss, with_gradient
from losslab.losses.logsumexp import weighted_logsumexp
from losslab.losses.spec import LabelStatistics


def hinge_pairs(logits: Tensor, targets: Tensor, *, margin: float, ranked: bool) -> Tensor:
    """``sum_P sum_N max(0, a + s_j - s_i)``, mean over documents; ``ranked`` weighs i by its rank.

    The positives of a row are sorted; a negative j then violates the margin of the k_j lowest,
    found by bisection, and prefix sums give the rest: time C log P and memory C per row.

    >>> scores, targets = torch.tensor([[0.0, 0.5]]), torch.tensor([[1.0, 0.0]])
    >>> hinge_pairs(scores, targets, margin=1.0, ranked=False).item()
    1.5
    """
    with torch.no_grad():
        positive = targets > 0
        lowest, order = _sorted_positives(logits, positive)
        weights = _ranks(logits, lowest) if ranked else torch.ones_like(lowest)
        weights = weights.masked_fill(lowest.isinf(), 0)
        reach = _below(lowest, logits + margin)
        heights = _prefix(weights).gather(1, reach)
        depths = _prefix(weights * lowest.masked_fill(lowest.isinf(), 0)).gather(1, reach)
        losses = (heights * (logits + margin) - depths).masked_fill_(positive, 0)
        gradient = heights.masked_fill(positive, 0)
        violators = _reached(reach, 1 - targets, lowest.shape[1])
        gradient.scatter_add_(1, order, -weights * violators)
        value = losses.sum() / len(logits)
    return with_gradient(logits, value, gradient / len(logits))


def _sorted_positives(logits: Tensor, positive: Tensor) -> tuple[Tensor, Tensor]:
    """Scores of each row's positives, ascending, padded with infinity; and where they come from."""
    most = max(int(positive.sum(dim=1).max()), 1)
    padded = logits.masked_fill(~positive, float("inf"))
    lowest = torch.topk(padded, most, dim=1, largest=False, sorted=True)
    return lowest.values.contiguous(), lowest.indices


def _below(lowest: Tensor, values: Tensor) -> Tensor:
    """How many of a row's positives lie strictly below each value."""
    return torch.searchsorted(lowest, values.contiguous())


def _ranks(logits: Tensor, lowest: Tensor) -> Tensor:
    """``1 +`` how many labels score strictly higher than each positive."""
    return 1 + _reached(_below(lowest, logits), torch.ones_like(logits), lowest.shape[1])


def _prefix(values: Tensor) -> Tensor:
    """Sums of the first 0, 1, 2, ... values of a row."""
    return F.pad(values.cumsum(1), (1, 0))


def _reached(reach: Tensor, counted: Tensor, width: int) -> Tensor:
    """How much of ``counted`` reaches beyond each sorted positive."""
    counts = counted.new_zeros(len(reach), width + 1).scatter_add_(1, reach, counted)
    return counts.flip(1).cumsum(1).flip(1)[:, 1:]


def pair_logsumexp(logits: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """``log sum_P sum_N e^(s_j - s_i)`` per row, as lse_N(s) + lse_P(-s); and which rows have both.

    Rows that lack one hold 0 and pass no gradient.
    """
    with torch.no_grad():
        count = targets.sum(dim=1)
        defined = (count > 0) & (count < targets.shape[1])
        above, rise = weighted_logsumexp(logits, 1 - targets, anchor=False)
        below, fall = weighted_logsumexp(-logits, targets, anchor=False)
        total = torch.where(defined, above + below, 0.0)
        gradient = rise.sub_(fall).mul_(defined.unsqueeze(1))
    return with_gradient(logits, total, gradient), defined


class RankingLoss(Loss):
    """Ranking hinge: every positive above every negative by a margin; thresholds do not matter.

    ``sum_P sum_N max(0, a + s_j - s_i)``, mean over documents (eq. 22).

    >>> loss = RankingLoss(margin=1.0)
    >>> loss(torch.tensor([[3.0, 1.0]]), torch.tensor([[1.0, 0.0]])).item()
    0.0
    """

    ranked = False

    def __init__(self, statistics: LabelStatistics | None = None, *, margin: float) -> None:
        super().__init__()
        self.margin = margin

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents; a row lacking positives or negatives counts 0."""
        return hinge_pairs(logits, targets, margin=self.margin, ranked=self.ranked)

    def scores(self, logits: Tensor) -> Tensor:
        """The logits: there is no probability."""
        return logits


class WarpLoss(RankingLoss):
    """WARP: the ranking hinge, each positive weighted by its rank among all labels.

    The rank (1 is best) is detached (eq. 23). Choose it where the top of the list matters.
    """

    ranked = True


class BpmllLoss(Loss):
    """BP-MLL in the logarithm: smooth pairs, ``lse_N(s) + lse_P(-s)`` (eq. 24).

    Mean over the rows that have positives and negatives; 0 where none has.

    >>> BpmllLoss()(torch.tensor([[0.0, 0.0]]), torch.tensor([[1.0, 0.0]])).item()
    0.0
    """

    def __init__(self, statistics: LabelStatistics | None = None) -> None:
        super().__init__()

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over defined rows."""
        total, defined = pair_logsumexp(logits, targets)
        return total.sum() / defined.sum().clamp_min(1)

    def scores(self, logits: Tensor) -> Tensor:
        """The logits: there is no probability."""
        return logits


class LsepLoss(RandomLoss):
    """LSEP: ``log(1 + sum_P sum_N e^(s_j - s_i))`` (eq. 12), bounded from below, unlike BP-MLL.

    ``pairs`` > 0 sums over that many pairs drawn per document instead of all (eq. 13).

    >>> LsepLoss(pairs=0)(torch.tensor([[0.0, 0.0]]), torch.tensor([[1.0, 0.0]])).item()  # ln 2
    0.6931...
    """

    def __init__(self, statistics: LabelStatistics | None = None, *, pairs: int) -> None:
        super().__init__()
        self.pairs = int(pairs)

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents; a row lacking positives or negatives counts 0."""
        if self.pairs and self.training:
            return self._sampled(logits, targets)
        total, defined = pair_logsumexp(logits, targets)
        return torch.where(defined, F.softplus(total), 0.0).mean()

    def scores(self, logits: Tensor) -> Tensor:
        """The logits: there is no probability."""
        return logits

    def _sampled(self, logits: Tensor, targets: Tensor) -> Tensor:
        defined = targets.any(dim=1) & ~targets.all(dim=1)
        if not defined.any():
            return logits.sum() * 0
        rows, truth = logits[defined], targets[defined]
        higher = rows.gather(1, self._draw(1 - truth)) - rows.gather(1, self._draw(truth))
        zero = torch.zeros_like(higher[:, :1])
        return torch.logsumexp(torch.cat([zero, higher], dim=1), dim=1).sum() / len(logits)

    def _draw(self, allowed: Tensor) -> Tensor:
        chosen = torch.multinomial(allowed.cpu(), self.pairs, True, generator=self.generator)
        return chosen.to(allowed.device)
