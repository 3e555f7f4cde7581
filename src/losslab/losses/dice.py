"""Dice losses: overlap of probabilities and targets (Su et al. 2022, eq. 20 and 21).

p = sigmoid(z); g ``smooth`` keeps empty cases defined.
"""

import torch
from torch import Tensor

from losslab.losses.base import Context, Loss, with_gradient
from losslab.losses.checks import warn_of_small_batch
from losslab.losses.spec import LabelStatistics


def dice(logits: Tensor, targets: Tensor, *, smooth: float, over_batch: bool) -> Tensor:
    """``1 - (2 p y + g) / (p^2 + y + g)`` of each entry, or of each label's sums over the batch.

    Entries are summed over labels and averaged over documents; labels are summed.

    >>> dice(torch.zeros(1, 1), torch.zeros(1, 1), smooth=1.0, over_batch=False).item()
    0.1999...
    """
    with torch.no_grad():
        chance = torch.sigmoid(logits)
        overlap, size = chance * targets, chance * chance + targets
        if over_batch:
            overlap, size = overlap.sum(dim=0), size.sum(dim=0)
        size = size + smooth
        ratio = (2 * overlap + smooth) / size
        share = 1 if over_batch else len(logits)
        value = (1 - ratio).sum() / share
        slope = (ratio * chance - targets) / size * (2 / share)
        gradient = slope * chance * torch.sigmoid(-logits)
    return with_gradient(logits, value, gradient)


class DiceLoss(Loss):
    """Dice per entry, summed over labels, mean over documents (eq. 20): ``dice1``.

    >>> DiceLoss(smooth=1.0)(torch.full((1, 1), 30.0), torch.ones(1, 1)).item()
    0.0
    """

    over_batch = False

    def __init__(self, statistics: LabelStatistics | None = None, *, smooth: float) -> None:
        super().__init__()
        self.smooth = smooth

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """See :func:`dice`."""
        return dice(logits, targets, smooth=self.smooth, over_batch=self.over_batch)


class BatchDiceLoss(DiceLoss):
    """Dice of each label over the whole batch, summed over labels (eq. 21): ``dice2``.

    A label with few documents needs batches large enough to hold some.
    """

    over_batch = True

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """See :func:`dice`."""
        if self.training:
            warn_of_small_batch(self.name, len(logits))
        return super().compute(logits, targets, context)
