"""Losses over pairs: a positive above a negative label, never all pairs in memory.

Symbols of Su et al. 2022 (ZLPR): s ``logits``, s_i a positive's, s_j a negative's, alpha ``margin``,
t ``pairs``. None has a natural threshold: decisions compare the logits with one tuned on validation.
"""

from typing import Annotated

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from losslab.losses.base import Context, Loss, RandomLoss, with_gradient
from losslab.losses.hyperparameters import Option
from losslab.losses.logsumexp import weighted_logsumexp
from losslab.losses.zlpr import ZLPR

Margin = Annotated[float, Option("4.2: alpha of eq. 22, 23", minimum=0, search=(0.1, 10), log=True)]

FEW = 32  # positives of a document up to which comparing them one by one is quicker than bisection

PAIRS = r"\sum_{i \in P_d} \sum_{j \in N_d}"


def hinge_pairs(logits: Tensor, targets: Tensor, *, margin: float, ranked: bool) -> Tensor:
    """``sum_P sum_N max(0, a + s_j - s_i)``, mean over documents; ``ranked`` weighs i by its rank.

    A negative j violates the margin of the positives below ``a + s_j``: h_j of them, by weight. A
    positive i is violated by c_i negatives. The sum is then ``sum_j h_j (a + s_j) - sum_i w_i c_i s_i``.

    >>> scores, targets = torch.tensor([[0.0, 0.5]]), torch.tensor([[1.0, 0.0]])
    >>> hinge_pairs(scores, targets, margin=1.0, ranked=False).item()
    1.5
    """
    # d sum / ds_j = h_j for negatives, d sum / ds_i = -w_i c_i for positives; ranks are detached.
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
    # d total / ds = softmax_N(s) for negatives, -softmax_P(-s) for positives.
    with torch.no_grad():
        count = targets.sum(dim=1)
        defined = (count > 0) & (count < targets.shape[1])
        above, rise = weighted_logsumexp(logits, 1 - targets, anchor=False)
        below, fall = weighted_logsumexp(-logits, targets, anchor=False)
        total = torch.where(defined, above + below, 0.0)
        gradient = rise.sub_(fall).mul_(defined.unsqueeze(1))
    return with_gradient(logits, total, gradient), defined


class RankingLoss(Loss):
    """Ranking hinge loss: every positive above every negative by a margin; choose it where the order
    of labels matters and a threshold does not.

    ``sum_P sum_N max(0, alpha + s_j - s_i)``, mean over documents (eq. 22). A document without
    positives or without negatives counts 0.

    Shapes: logits and targets B x C, targets 0 or 1; value scalar.

    >>> RankingLoss()(torch.tensor([[3.0, 1.0]]), torch.tensor([[1.0, 0.0]])).item()
    0.0
    """

    name = "ranking"
    title = "Ranking hinge"
    choose_when = "the order of labels matters and a threshold does not"
    paper = f"{ZLPR}, eq. 22"
    formula = rf"L &= \frac{{1}}{{B}} \sum_d {PAIRS} \max (0, \alpha + s_{{dj}} - s_{{di}})"
    decision = "score"

    def __init__(self, *, margin: Margin = 1.0) -> None:
        super().__init__()
        self.margin = margin

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents."""
        return hinge_pairs(logits, targets, margin=self.margin, ranked=False)


class WARPLoss(Loss):
    """WARP loss: the ranking hinge, each positive weighted by its rank; choose it where the top of
    the list matters most.

    ``sum_P r_i sum_N max(0, alpha + s_j - s_i)``, mean over documents (eq. 23); r_i is the rank of i
    among all labels (1 is best), detached. Half-precision gradients may overflow at large C.

    Shapes: logits and targets B x C, targets 0 or 1; value scalar.

    >>> WARPLoss()(torch.tensor([[0.0, 0.5]]), torch.tensor([[1.0, 0.0]])).item()  # 2 * 1.5
    3.0
    """

    name = "warp"
    title = "WARP"
    choose_when = "the top of the list matters most"
    paper = f"{ZLPR}, eq. 23"
    formula = r"""L &= \frac{1}{B} \sum_d \sum_{i \in P_d} r_{di}
\sum_{j \in N_d} \max (0, \alpha + s_{dj} - s_{di})"""
    decision = "score"

    def __init__(self, *, margin: Margin = 1.0) -> None:
        super().__init__()
        self.margin = margin

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents."""
        return hinge_pairs(logits, targets, margin=self.margin, ranked=True)


class BPMLLLoss(Loss):
    """BP-MLL loss in the logarithm; choose it as ``ranking``, with a smooth gradient.

    ``log sum_P sum_N e^(s_j - s_i) = lse_N(s) + lse_P(-s)`` (the logarithm of eq. 24), mean over the
    documents that have positives and negatives; 0 where none has.

    Shapes: logits and targets B x C, targets 0 or 1; value scalar.

    >>> BPMLLLoss()(torch.tensor([[0.0, 0.0]]), torch.tensor([[1.0, 0.0]])).item()
    0.0
    """

    name = "bpmll"
    title = "BP-MLL, logarithm"
    choose_when = "as for ranking, with a smooth gradient"
    paper = f"{ZLPR}, eq. 24"
    formula = rf"L &= \frac{{1}}{{B'}} \sum_d \log {PAIRS} e^{{s_{{dj}} - s_{{di}}}}"
    decision = "score"

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over defined rows."""
        total, defined = pair_logsumexp(logits, targets)
        return total.sum() / defined.sum().clamp_min(1)


class LSEPLoss(RandomLoss):
    """Log-sum-exp pairwise loss; choose it as ``bpmll``, without pushing what is already in order.

    ``log(1 + sum_P sum_N e^(s_j - s_i)) = softplus(lse_N(s) + lse_P(-s))`` (eq. 12), mean over
    documents. ``pairs`` > 0 sums over a random subset of at most that many pairs per document and
    training step (eq. 13, t), drawn without replacement.

    Shapes: logits and targets B x C, targets 0 or 1; value scalar.

    >>> LSEPLoss()(torch.tensor([[0.0, 0.0]]), torch.tensor([[1.0, 0.0]])).item()  # ln 2
    0.6931...
    """

    name = "lsep"
    title = "Log-sum-exp pairwise"
    choose_when = "as for bpmll, without pushing what is already in order"
    paper = f"{ZLPR}, eq. 12, 13"
    formula = (
        rf"L &= \frac{{1}}{{B'}} \sum_d \log \Bigl( 1 + {PAIRS} e^{{s_{{dj}} - s_{{di}}}} \Bigr)"
    )
    decision = "score"

    def __init__(
        self, *, pairs: Annotated[int, Option("eq. 12: all pairs", minimum=0)] = 0
    ) -> None:
        super().__init__()
        self.pairs = int(pairs)

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents; a row lacking positives or negatives counts 0."""
        total, defined = pair_logsumexp(logits, targets)
        values = torch.where(defined, F.softplus(total), 0.0)
        if self.pairs and self.training:
            positives = targets.sum(dim=1).long()
            many = positives * (targets.shape[1] - positives) > self.pairs
            if many.any():
                values = values.masked_scatter(many, self._sampled(logits[many], targets[many]))
        return values.mean()

    def _sampled(self, logits: Tensor, targets: Tensor) -> Tensor:
        """The value of each row over ``pairs`` of its pairs; it has more."""
        positives = targets.sum(dim=1, keepdim=True).long()
        negatives = targets.shape[1] - positives
        drawn = draw_distinct((positives * negatives).cpu(), self.pairs, self.generator)
        drawn = drawn.to(logits.device)
        order = targets.argsort(dim=1, descending=True)  # the positives, then the negatives
        lower = logits.gather(1, order.gather(1, drawn // negatives))
        higher = logits.gather(1, order.gather(1, positives + drawn % negatives))
        return F.softplus(torch.logsumexp(higher - lower, dim=1))


def draw_distinct(sizes: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """For each size (rows x 1, more than ``count``) a uniform draw of ``count`` numbers below it.

    The numbers of a row differ. Memory is rows x count, whatever the sizes.
    """
    places = torch.arange(2 * count)
    keys = torch.rand(len(sizes), len(places), generator=generator)
    small = keys.masked_fill_(places >= sizes, 2.0).topk(count, largest=False).indices
    drawn = torch.where(sizes <= len(places), small, _draw_below(sizes.expand_as(small), generator))
    while True:  # at least half of what is drawn anew is new: a few rounds suffice
        drawn = drawn.sort(dim=1).values
        repeated = F.pad(drawn[:, 1:] == drawn[:, :-1], (1, 0))
        if not repeated.any():
            return drawn
        drawn[repeated] = _draw_below(sizes.expand_as(drawn)[repeated], generator)


def _draw_below(sizes: Tensor, generator: torch.Generator) -> Tensor:
    draws = torch.rand(sizes.shape, generator=generator, dtype=torch.float64)
    return (draws * sizes).long()
