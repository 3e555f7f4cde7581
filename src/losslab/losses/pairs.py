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

FEW = 32  # positives of a document up to which comparing them one by one is quicker than bisection


def hinge_pairs(logits: Tensor, targets: Tensor, *, margin: float, ranked: bool) -> Tensor:
    """``sum_P sum_N max(0, a + s_j - s_i)``, mean over documents; ``ranked`` weighs i by its rank.

    A negative j violates the margin of the positives below ``a + s_j``: h_j of them, by weight. A
    positive i is violated by c_i negatives. The sum is then ``sum_j h_j (a + s_j) - sum_i w_i c_i s_i``
    and its gradient h_j and ``-w_i c_i``.

    >>> scores, targets = torch.tensor([[0.0, 0.5]]), torch.tensor([[1.0, 0.0]])
    >>> hinge_pairs(scores, targets, margin=1.0, ranked=False).item()
    1.5
    """
    with torch.no_grad():
        positive = targets > 0
        lowest, places = _sorted_positives(logits, positive)
        real = ~lowest.isinf()
        weights = real.to(logits.dtype)
        if ranked:
            weights = weights * (1 + exceeding(logits, lowest, weights)[1])
        raised = logits + margin
        heights, counts = exceeding(raised.masked_fill(positive, float("-inf")), lowest, weights)
        pull = weights * counts
        value = (heights * raised).sum() - (pull * lowest.masked_fill(~real, 0)).sum()
        gradient = heights.scatter_add_(1, places, -pull)
    return with_gradient(logits, value / len(logits), gradient.div_(len(logits)))


def _sorted_positives(logits: Tensor, positive: Tensor) -> tuple[Tensor, Tensor]:
    """Scores of each row's positives, ascending, padded with infinity; and where they come from."""
    most = max(int(positive.sum(dim=1).max()), 1)
    padded = logits.masked_fill(~positive, float("inf"))
    lowest = torch.topk(padded, most, dim=1, largest=False, sorted=True)
    return lowest.values.contiguous(), lowest.indices


def exceeding(values: Tensor, steps: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """For each value the weight of the steps strictly below it; for each step how many exceed it.

    ``steps`` ascend along a row. A few are compared one by one, many found by bisection; neither
    takes more memory than ``values``.
    """
    if steps.shape[1] <= FEW:
        heights, counts = torch.zeros_like(values), torch.zeros_like(steps)
        above = torch.empty_like(values)
        for place in range(steps.shape[1]):
            torch.gt(values, steps[:, place : place + 1], out=above)
            counts[:, place] = above.sum(dim=1)
            heights.addcmul_(above, weights[:, place : place + 1])
        return heights, counts
    reach = torch.searchsorted(steps, values)
    bins = steps.new_zeros(len(steps), steps.shape[1] + 1)
    bins.scatter_add_(1, reach, torch.ones_like(values))
    heights = F.pad(weights.cumsum(1), (1, 0)).gather(1, reach)
    return heights, bins.flip(1).cumsum(1).flip(1)[:, 1:]


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
