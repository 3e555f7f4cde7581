"""ZLPR losses: positives above a threshold score, negatives below it (Su et al. 2022).

s ``logits``, s_0 ``s0``, t the targets; probabilities are ``sigmoid(2 (s - s_0))`` (eq. 35).
"""

from typing import Annotated

import torch
from torch import Tensor, nn

from losslab.losses.base import Context, Loss, with_gradient
from losslab.losses.checks import check_probabilities
from losslab.losses.divergence import bernoulli_divergence, symmetric_divergence
from losslab.losses.hyperparameters import Option
from losslab.losses.logsumexp import weighted_logsumexp

ZLPR = "Su et al. 2022, ZLPR: A Novel Loss for Multi-label Classification"


def threshold_ranking(logits: Tensor, targets: Tensor, s0: Tensor | float = 0.0) -> Tensor:
    """``lse(-s_0, -s_P) + lse(s_0, s_N)`` per document (eq. 6; eq. 1 at s_0 = 0).

    Soft targets t weigh the terms by t and 1 - t (eq. 31), which hard ones are a case of.

    >>> threshold_ranking(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]])).item()  # 2 ln 2
    1.386...
    """
    # d value / ds = (1-t) e^s / (1 + sum (1-t) e^s) - t e^-s / (1 + sum t e^-s)   (eq. 32)
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


class _ZLPRScores(Loss):
    """Losses whose label probability is ``sigmoid(2 s)``, up to a threshold score."""

    def scores(self, logits: Tensor) -> Tensor:
        """``sigmoid(2 s)``: above 0.5 where s > 0."""
        return torch.sigmoid(2 * logits)

    def divergence(self, first: Tensor, second: Tensor) -> Tensor:
        """Eq. 37."""
        return zlpr_symmetric_divergence(first, second)


class TLPRLoss(_ZLPRScores):
    """TLPR loss: ZLPR with a learned threshold score; choose it as ``zlpr``, where the threshold
    should be learned.

    ``lse(-s_0, -s_P) + lse(s_0, s_N)``, mean over documents (eq. 6). ``s0`` is where the threshold
    starts; what is learned, a parameter of the module to hand to the optimiser, is the move away
    from there.

    Shapes: logits and targets B x C, targets 0 or 1; value scalar.

    >>> loss = TLPRLoss(s0=0.5)
    >>> loss.scores(torch.tensor([[0.5]])).item()
    0.5
    """

    name = "tlpr"
    title = "Threshold-bounded ranking"
    choose_when = "as for zlpr, where the threshold should be learned"
    paper = f"{ZLPR}, eq. 6"
    formula = r"""L &= \frac{1}{B} \sum_d \Bigl[
\log \Bigl( e^{-s_0} + \sum_{i \in P_d} e^{-s_{di}} \Bigr)
+ \log \Bigl( e^{s_0} + \sum_{j \in N_d} e^{s_{dj}} \Bigr) \Bigr]"""

    def __init__(
        self, *, s0: Annotated[float, Option("eq. 1: where ZLPR has it", search=(-4, 4))] = 0.0
    ) -> None:
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

    def divergence(self, first: Tensor, second: Tensor) -> Tensor:
        """Eq. 37 with ``q = sigmoid(2 (s - s_0))``."""
        s0 = self.s0(first)
        return zlpr_symmetric_divergence(first - s0, second - s0)


class ZLPRLoss(_ZLPRScores):
    """ZLPR loss: positives above zero, negatives below; choose it for many labels of which few are
    positive: label imbalance does not drown the positives.

    ``lse(0, -s_P) + lse(0, s_N)``, mean over documents (eq. 1).

    Shapes: logits and targets B x C, targets 0 or 1; value scalar.

    >>> ZLPRLoss()(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]])).item()  # 2 ln 2
    1.386...
    """

    name = "zlpr"
    title = "Zero-bounded ranking"
    choose_when = "many labels, few of them positive: no imbalance between the two sums"
    paper = f"{ZLPR}, eq. 1"
    formula = r"""L &= \frac{1}{B} \sum_d \Bigl[ \log \Bigl( 1 + \sum_{i \in P_d} e^{-s_{di}} \Bigr)
+ \log \Bigl( 1 + \sum_{j \in N_d} e^{s_{dj}} \Bigr) \Bigr]"""

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents."""
        return threshold_ranking(logits, targets).mean()


class SoftZLPRLoss(_ZLPRScores):
    """ZLPR loss for soft targets; choose it as ``zlpr``, with targets between 0 and 1.

    ``lse(0, -s + log t) + lse(0, s + log(1 - t))``, mean over documents (eq. 31). t are
    ``context["soft_targets"]`` in training mode, where given, else the targets themselves; t_ij is
    the probability of label j, so that soft labels that sum to 1 over labels would push a document
    with several labels below the threshold. On hard targets it is ``zlpr``.

    Shapes: logits, targets and soft targets B x C, targets in [0, 1]; value scalar.

    >>> SoftZLPRLoss()(torch.zeros(1, 1), torch.tensor([[0.5]])).item()  # 2 ln 1.5
    0.8109...
    """

    name = "soft_zlpr"
    title = "ZLPR for soft targets"
    choose_when = "as for zlpr, with targets between 0 and 1"
    paper = f"{ZLPR}, eq. 31"
    formula = r"""L &= \frac{1}{B} \sum_d \Bigl[ \log \Bigl( 1 + \sum_j t_{dj} e^{-s_{dj}} \Bigr)
+ \log \Bigl( 1 + \sum_j (1 - t_{dj}) e^{s_{dj}} \Bigr) \Bigr]"""
    needs = ("soft_targets",)
    accepts_soft_targets = True

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents."""
        if self.training and context.get("soft_targets") is not None:
            targets = self.demand(context, "soft_targets", logits)
            check_probabilities(self.name, "context['soft_targets']", targets)
        return threshold_ranking(logits, targets).mean()


class ZLPRRDropLoss(_ZLPRScores):
    """ZLPR loss with R-Drop: two dropout passes must agree; choose it as ``zlpr``, with little data
    and a model with dropout.

    ``(zlpr(s) + zlpr(s')) / 2 + weight * D(s, s') / 2``, mean over documents (eq. 36, 37); s' is
    ``context["second_logits"]``. In evaluation mode there is no dropout, and it may be left out.

    Shapes: logits, targets and second logits B x C, targets 0 or 1; value scalar.

    >>> logits, targets = torch.zeros(1, 2), torch.tensor([[1.0, 0.0]])
    >>> ZLPRRDropLoss()(logits, targets, {"second_logits": logits}).item()  # 2 ln 2
    1.386...
    """

    name = "zlpr_rdrop"
    title = "ZLPR with R-Drop"
    choose_when = "as for zlpr, with little data and a model with dropout"
    paper = f"{ZLPR}, eq. 36, 37"
    formula = r"""L &= \frac{1}{2B} \sum_d \bigl[
\operatorname{zlpr}(s_d) + \operatorname{zlpr}(s'_d) + w\, D(s_d, s'_d) \bigr] \\
D(s, s') &= \sum_j 2 (q_j - q'_j) (s_j - s'_j), \quad q_j = \sigma(2 s_j)"""
    needs = ("second_logits",)

    def __init__(
        self,
        *,
        weight: Annotated[
            float,
            Option(
                "our choice: appendix B names no weight; 1 is eq. 37 as printed",
                minimum=0,
                search=(0.1, 10),
                log=True,
            ),
        ] = 1.0,
    ) -> None:
        super().__init__()
        self.weight = weight

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents."""
        if "second_logits" not in context and not self.training:
            return threshold_ranking(logits, targets).mean()
        second = self.demand(context, "second_logits", logits)
        both = threshold_ranking(logits, targets) + threshold_ranking(second, targets)
        disagreement = zlpr_symmetric_divergence(logits, second)
        return (both + self.weight * disagreement).mean() / 2
