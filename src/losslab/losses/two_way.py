"""Two-way losses: positives above negatives within a document and within a label (Kobayashi 2023).

z ``logits``, T_p ``positive_temperature``, T_n ``negative_temperature``: how far beyond the worst
positive and the best negative a set is looked at.
"""

from typing import Annotated

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from losslab.losses.base import Context, Loss, with_gradient
from losslab.losses.hyperparameters import Option
from losslab.losses.logsumexp import MINUS_INFINITY, logsumexp_and_share

TWO_WAY = "Kobayashi 2023, Two-way Multi-Label Loss"
Temperatures = tuple[float, float]
Parts = tuple[Tensor, Tensor]


def one_way(pull: Tensor, push: Tensor, temperatures: Temperatures, *, dim: int) -> Parts:
    """Mean of ``softplus(T_n * lse(z_N / T_n) + T_p * lse(-z_P / T_p))``, and its gradient.

    ``pull`` and ``push`` are the terms of P and N, minus infinity for the others. The mean is over the
    documents (``dim=1``) or labels (``dim=0``) that have a positive; one without a negative gives 0.
    """
    # d T * lse(z / T) / dz is the softmax share; of a set without members it is 0, lse is -inf.
    worst, risen = logsumexp_and_share(pull, dim=dim)
    best, fallen = logsumexp_and_share(push, dim=dim)
    gaps = temperatures[0] * worst + temperatures[1] * best
    present = (worst > MINUS_INFINITY).sum().clamp_min(1)
    slopes = (torch.sigmoid(gaps) / present).unsqueeze(dim)
    return F.softplus(gaps).sum() / present, fallen.sub_(risen).mul_(slopes)


class TwoWayLoss(Loss):
    """Two-way loss: the worst positive must beat the best negative, of each document and of each
    label; choose it where ranking matters both ways, and batches hold several positives of a label.

    ``softplus(T_n * lse(z_N / T_n) + T_p * lse(-z_P / T_p))`` with P and N the positives and negatives
    of a document, mean over documents with a positive, plus the same over the entries of a label, mean
    over labels with a positive in the batch. A constant added to all logits changes nothing: the
    threshold is tuned on validation. The authors' code puts -100 in place of entries that are left
    out; here they are left out, and a set without negatives costs nothing.

    Shapes: logits and targets B x C, targets 0 or 1, B >= 256 advised; value scalar.

    >>> loss = TwoWayLoss().eval()
    >>> loss(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]])).item()  # ln 2; the label has no negative
    0.6931...
    """

    name = "two_way"
    title = "Two-way loss"
    choose_when = "ranking matters both ways, and batches hold several positives of a label"
    paper = TWO_WAY
    formula = r"""L &= \frac{1}{B} \sum_d \ell(P_d, N_d) + \frac{1}{C} \sum_c \ell(P_c, N_c) \\
\ell(P, N) &= \operatorname{softplus} \Bigl( T_n \log \sum_{j \in N} e^{z_j / T_n}
+ T_p \log \sum_{i \in P} e^{-z_i / T_p} \Bigr)"""
    decision = "score"
    batchwise = True

    def __init__(
        self,
        *,
        positive_temperature: Annotated[
            float, Option("the authors' code: Tp", minimum=0.01, search=(0.5, 8), log=True)
        ] = 4.0,
        negative_temperature: Annotated[
            float, Option("the authors' code: Tn", minimum=0.01, search=(0.5, 8), log=True)
        ] = 1.0,
    ) -> None:
        super().__init__()
        self.temperatures = positive_temperature, negative_temperature

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents plus mean over labels."""
        with torch.no_grad():
            positive, (up, down) = targets > 0, self.temperatures
            pull = (logits / -up).masked_fill_(~positive, MINUS_INFINITY)
            push = (logits / down).masked_fill_(positive, MINUS_INFINITY)
            value, gradient = one_way(pull, push, self.temperatures, dim=1)
            of_labels, slopes = one_way(pull, push, self.temperatures, dim=0)
        return with_gradient(logits, value + of_labels, gradient.add_(slopes))
