"""Losses for missing labels: some negatives are positives that nobody marked.

z ``logits``, p = sigmoid(z), m ``margin``, gamma ``gamma``. A model finds unmarked positives early
and is punished for them later on: these losses mistrust the negatives it is surest of.
"""

from math import ceil
from typing import Annotated

import torch
from torch import Tensor

from losslab.losses.base import Context, EpochLoss, Loss, with_gradient
from losslab.losses.cross_entropy import focused_entries, focused_positives, two_sided
from losslab.losses.hyperparameters import Option
from losslab.losses.logsumexp import MINUS_INFINITY

ROBUST = "Zhang et al. 2021, Simple and Robust Loss Design for Multi-Label Learning"
LARGE_LOSS = "Kim et al. 2022, Large Loss Matters in Weakly Supervised Multi-Label Classification"
CODE = "the authors' code"
FocalGamma = Annotated[float, Option(CODE, minimum=0, search=(0, 5))]
Margin = Annotated[float, Option(f"{CODE}; 0.5 to 1 advised", minimum=0, search=(0, 2))]
Steepness = Annotated[float, Option(f"{CODE}: lambda", minimum=1, search=(1, 2))]


def hill_entries(logits: Tensor, level: float) -> tuple[Tensor, Tensor]:
    """``(level - p) * p^2`` and its slope ``p^2 * (1 - p) * (2 level - 3 p)``."""
    chance = torch.sigmoid(logits)
    square = chance.square()
    slopes = (-3 * chance).add_(2 * level).mul_(square)
    entries = square.mul_(level - chance)
    return entries, slopes.mul_(chance.neg_().add_(1))


class HillLoss(Loss):
    """Hill loss: the surer a negative is taken for a positive, the less it is pushed; choose it where
    labels are missing.

    ``mean of (1 - p_m)^gamma * -log p_m`` over positives, ``p_m = sigmoid(z - m)``, and of
    ``(lambda - p) * p^2`` over negatives: at lambda 1.5 their slope falls to zero as p goes to 1.
    The authors' code sums over entries.

    Shapes: logits and targets B x C, targets 0 or 1; value scalar.

    >>> HillLoss()(torch.zeros(1, 1), torch.zeros(1, 1)).item()  # (1.5 - 0.5) * 0.5^2
    0.25
    """

    name = "hill"
    title = "Hill loss"
    choose_when = "labels are missing"
    paper = ROBUST
    formula = r"""L &= \frac{1}{BC} \sum_{i,c} \begin{cases}
-(1 - p^m_{ic})^{\gamma} \log p^m_{ic} & y_{ic} = 1 \\
(\lambda - p_{ic})\, p_{ic}^2 & y_{ic} = 0 \end{cases} \\
p^m_{ic} &= \sigma(z_{ic} - m)"""

    def __init__(
        self, *, gamma: FocalGamma = 2.0, margin: Margin = 1.0, level: Steepness = 1.5
    ) -> None:
        super().__init__()
        self.gamma, self.margin, self.level = gamma, margin, level

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents x labels."""
        with torch.no_grad():
            positives = focused_positives(logits, self.gamma, margin=self.margin)
            negatives = hill_entries(logits, self.level)
        return two_sided(logits, targets > 0, positives, negatives)


class SelfPacedCorrectionLoss(EpochLoss):
    """SPLC loss: negatives that the model is sure of become positives; choose it where many labels are
    missing and the model is right about them soon.

    ``mean of (1 - p_m)^gamma * -log p_m`` over positives, ``p_m = sigmoid(z - m)``, and of
    ``p^gamma * -log(1-p)`` over negatives. From ``start_epoch`` on (counted from 0), a negative with p
    above ``threshold`` (tau) counts as a positive, without the margin. The epoch is
    ``context["epoch"]``, remembered, so that evaluation counts as the last one did. The authors' code
    sums over entries.

    Shapes: logits and targets B x C, targets 0 or 1; value scalar.

    >>> loss, sure = SelfPacedCorrectionLoss(), torch.full((1, 1), 9.0)
    >>> loss(sure, torch.zeros(1, 1), {"epoch": 0}).item()
    8.997...
    >>> loss(sure, torch.zeros(1, 1), {"epoch": 1}).item() < 1e-9
    True
    """

    name = "splc"
    title = "Self-paced loss correction"
    choose_when = "many labels are missing and the model is right about them soon"
    paper = ROBUST
    formula = r"""L &= \frac{1}{BC} \sum_{i,c} \begin{cases}
-(1 - p^m_{ic})^{\gamma} \log p^m_{ic} & y_{ic} = 1 \\
-(1 - p_{ic})^{\gamma} \log p_{ic} & y_{ic} = 0, \ p_{ic} > \tau, \ \text{from the start epoch on} \\
-p_{ic}^{\gamma} \log (1 - p_{ic}) & \text{else} \end{cases} \\
p^m_{ic} &= \sigma(z_{ic} - m)"""
    needs = ("epoch",)

    def __init__(
        self,
        *,
        gamma: FocalGamma = 2.0,
        margin: Margin = 1.0,
        threshold: Annotated[
            float, Option(f"{CODE}: tau", minimum=0.01, maximum=0.99, search=(0.5, 0.9))
        ] = 0.6,
        start_epoch: Annotated[int, Option(f"{CODE}: change_epoch", minimum=0)] = 1,
    ) -> None:
        super().__init__()
        self.gamma, self.margin, self.start_epoch = gamma, margin, start_epoch
        self.keep(sure=torch.logit(torch.tensor(threshold, dtype=torch.float64)))

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents x labels."""
        with torch.no_grad():
            counted = targets > 0
            if self.at_epoch(context) >= self.start_epoch:
                counted |= logits > self.constant("sure", logits)
            signs = 1 - 2 * counted.to(logits.dtype)
            wrongness = (signs * logits).add_(targets, alpha=self.margin)
            entries, slopes = focused_entries(wrongness, self.gamma)
            slopes.mul_(signs).div_(logits.numel())
        return with_gradient(logits, entries.mean(), slopes)


class LargeLossRejectionLoss(EpochLoss):
    """LL-R loss: cross-entropy without the negatives that cost most, a few more each epoch; choose it
    where labels are missing and the rest should be learned as with ``bce``.

    ``mean of bce(z, y)`` with the k largest losses of negatives in a batch set to 0,
    ``k = ceil(min(rate * epoch, limit) * B * C)``, the epoch counted from 0. The authors train for
    ten epochs, which reject up to 1.8% at a rate of 0.2%; ``limit`` keeps longer trainings from
    rejecting all. The epoch is ``context["epoch"]``, remembered; in evaluation mode nothing is
    rejected. With ties, exactly k are rejected.

    Shapes: logits and targets B x C, targets 0 or 1; value scalar.

    >>> loss, logits = LargeLossRejectionLoss(), torch.tensor([[9.0, 0.0]])
    >>> loss(logits, torch.zeros(1, 2), {"epoch": 1}).item()  # ln 2 / 2
    0.3465...
    """

    name = "llr"
    title = "Large loss rejection"
    choose_when = "labels are missing, and the rest should be learned as with bce"
    paper = LARGE_LOSS
    formula = r"""L &= \frac{1}{BC} \sum_{(i,c) \notin R} \operatorname{bce}(z_{ic}, y_{ic}) \\
|R| &= \lceil \min (r \cdot \mathrm{epoch}, l)\, B C \rceil \\
R &\ \text{the negatives of largest loss in the batch}"""
    needs = ("epoch",)

    def __init__(
        self,
        *,
        rate: Annotated[
            float,
            Option(f"{CODE}: 0.1% to 0.5% per epoch", minimum=0, maximum=1, search=(0.001, 0.005)),
        ] = 0.002,
        limit: Annotated[
            float,
            Option("our choice: what ten epochs reach", minimum=0, maximum=1, search=(0.005, 0.1)),
        ] = 0.018,
    ) -> None:
        super().__init__()
        self.rate, self.limit = rate, limit

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents x labels."""
        share = min(self.rate * self.at_epoch(context), self.limit) if self.training else 0.0
        with torch.no_grad():
            signs = 1 - 2 * targets
            entries, slopes = focused_entries(signs * logits, 0.0)
            if share:
                rejected = largest_negatives(logits, targets > 0, share)
                for part in (entries, slopes):
                    part.view(-1).index_fill_(0, rejected, 0.0)
            slopes.mul_(signs).div_(logits.numel())
        return with_gradient(logits, entries.mean(), slopes)


def largest_negatives(logits: Tensor, positive: Tensor, share: float) -> Tensor:
    """Where the negatives of the largest logits are, ``share`` of all entries, counted row by row.

    Their losses are the largest: no other function of the logit is needed.
    """
    candidates = logits.masked_fill(positive, MINUS_INFINITY).flatten()
    negatives = len(candidates) - int(positive.sum())
    count = min(ceil(round(share * len(candidates), 6)), negatives)
    return candidates.topk(count, sorted=False).indices
