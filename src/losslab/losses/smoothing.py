"""Soft targets beside hard ones: a loss on the labels plus a pull towards a given distribution.

Liu et al. 2022 (KWLS), eq. 9: z ``logits``, d ``context["soft_targets"]``, alpha ``alpha``.
"""

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from losslab.losses.base import Context, Loss
from losslab.losses.spec import LabelStatistics


class SoftmaxCrossEntropy(Loss):
    """Softmax cross-entropy, for tasks with one label per document; takes soft targets.

    ``mean_i -sum_j t_ij log softmax(z_i)_j``.

    >>> SoftmaxCrossEntropy()(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]])).item()
    0.6931...
    """

    def __init__(self, statistics: LabelStatistics | None = None) -> None:
        super().__init__()

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents."""
        return F.cross_entropy(logits, targets)

    def scores(self, logits: Tensor) -> Tensor:
        """Softmax: the largest one decides."""
        return torch.softmax(logits, dim=1)


class SoftTargetLoss(Loss):
    """A hard loss plus the squared distance to soft targets: ``kwls`` and the ``ls_*``.

    ``mean_i [hard_i + alpha/C * sum_j (d_ij - softmax(z_i)_j)^2] / (2 (1 + alpha)^2)`` (eq. 9). The
    hard loss is softmax cross-entropy (``task="single"``) or the sum over labels of bce. The
    distance goes through softmax in both, since d sums to 1 (``auxiliary="sigmoid"`` is an option).
    No second head: the authors' code has one, and twice the value. On multi-label data the hard sum
    outweighs the pull: alpha is worth a sweep. Soft targets belong to training documents; in
    evaluation mode they may be left out, and in training ``None`` in their place trains with the
    hard loss alone, as the paper does before it switches them on (section 5.7).
    """

    def __init__(
        self,
        statistics: LabelStatistics | None = None,
        *,
        alpha: float,
        task: str,
        auxiliary: str,
    ) -> None:
        super().__init__()
        self.alpha, self.single, self.auxiliary = alpha, task == "single", auxiliary

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents."""
        if self.single:
            hard = F.cross_entropy(logits, targets, reduction="none")
        else:
            hard = F.binary_cross_entropy_with_logits(logits, targets, reduction="none").sum(dim=1)
        return (hard + self._pull(logits, context)).mean() / (2 * (1 + self.alpha) ** 2)

    def scores(self, logits: Tensor) -> Tensor:
        """As the hard loss has them."""
        return torch.softmax(logits, dim=1) if self.single else torch.sigmoid(logits)

    def _pull(self, logits: Tensor, context: Context) -> Tensor | float:
        absent = context.get("soft_targets") is None
        if absent and ("soft_targets" in context or not self.training):
            return 0.0
        soft = self.demand(context, "soft_targets", logits)
        guess = torch.softmax(logits, dim=1) if self.auxiliary == "softmax" else logits.sigmoid()
        distance: Tensor = (soft - guess).square().mean(dim=1)
        return self.alpha * distance
