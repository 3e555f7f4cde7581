"""Dice losses: overlap of probabilities and targets (Su et al. 2022, eq. 20 and 21).

p = sigmoid(z), y ``targets``, gamma ``smooth``, which keeps empty cases defined.
"""

from typing import Annotated

import torch
from torch import Tensor

from losslab.losses.base import Context, Loss
from losslab.losses.hyperparameters import Option
from losslab.losses.zlpr import ZLPR

Smooth = Annotated[
    float, Option("4.2: gamma of eq. 20, 21", minimum=1e-6, search=(0.01, 10), log=True)
]


def dice(logits: Tensor, targets: Tensor, *, smooth: float, over_batch: bool) -> Tensor:
    """``1 - (2 p y + g) / (p^2 + y + g)`` of each entry, or of each label's sums over the batch.

    Entries are summed over labels and averaged over documents; labels are summed.

    >>> dice(torch.zeros(1, 1), torch.zeros(1, 1), smooth=1.0, over_batch=False).item()
    0.1999...
    """
    probabilities = torch.sigmoid(logits)
    overlap, size = probabilities * targets, probabilities * probabilities + targets
    if over_batch:
        overlap, size = overlap.sum(dim=0), size.sum(dim=0)
    entries = 1 - (2 * overlap + smooth) / (size + smooth)
    return entries.sum() / (1 if over_batch else len(logits))


class DiceLoss(Loss):
    """Dice loss per entry; choose it where precision and recall matter more than calibrated
    probabilities.

    ``sum over c of 1 - (2 p y + g) / (p^2 + y + g)``, mean over documents (eq. 20).

    Shapes: logits and targets B x C, targets 0 or 1; value scalar.

    >>> DiceLoss()(torch.full((1, 1), 30.0), torch.ones(1, 1)).item()
    0.0
    """

    name = "dice1"
    title = "Dice per entry"
    choose_when = "precision and recall matter more than calibrated probabilities"
    paper = f"{ZLPR}, eq. 20"
    formula = r"""L &= \frac{1}{B} \sum_{i,c} \left( 1 -
\frac{2 p_{ic} y_{ic} + \gamma}{p_{ic}^2 + y_{ic} + \gamma} \right)"""

    def __init__(self, *, smooth: Smooth = 1.0) -> None:
        super().__init__()
        self.smooth = smooth

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Sum over labels, mean over documents."""
        return dice(logits, targets, smooth=self.smooth, over_batch=False)


class BatchDiceLoss(Loss):
    """Dice loss of each label over the batch; choose it as ``dice1``, with batches large enough to
    hold every label.

    ``sum over c of 1 - (2 sum_i p y + g) / (sum_i p^2 + sum_i y + g)`` (eq. 21).

    Shapes: logits and targets B x C, targets 0 or 1; value scalar.

    >>> BatchDiceLoss().eval()(torch.full((4, 1), 30.0), torch.ones(4, 1)).item()
    0.0
    """

    name = "dice2"
    title = "Dice per label and batch"
    choose_when = "as for dice1, with batches large enough to hold every label"
    paper = f"{ZLPR}, eq. 21"
    formula = r"""L &= \sum_c \left( 1 -
\frac{2 \sum_i p_{ic} y_{ic} + \gamma}{\sum_i p_{ic}^2 + \sum_i y_{ic} + \gamma} \right)"""
    batchwise = True

    def __init__(self, *, smooth: Smooth = 1.0) -> None:
        super().__init__()
        self.smooth = smooth

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Sum over labels."""
        return dice(logits, targets, smooth=self.smooth, over_batch=True)
