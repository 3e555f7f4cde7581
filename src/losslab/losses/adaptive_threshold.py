"""Adaptive thresholds: each document has a threshold of its own, t, which its model learns.

A model with these losses learns one logit more, t, and hands on the margins u = z - t of the labels:
they are the ``logits`` here, and u > 0 predicts a label. Both losses depend on margins alone.
Without t, as in a training loop of one's own, the threshold is 0.
"""

from typing import Annotated

import torch
from torch import Tensor

from losslab.losses.asymmetric import clipped_negatives
from losslab.losses.base import Context, Loss, with_gradient
from losslab.losses.cross_entropy import focused_positives
from losslab.losses.hyperparameters import Option
from losslab.losses.logsumexp import weighted_logsumexp

ATLOP = "Zhou et al. 2021, Document-Level Relation Extraction with Adaptive Thresholding (ATLOP)"
NCRL = "Zhou and Lee 2022, None Class Ranking Loss for Document-Level Relation Extraction"


class AdaptiveThresholdLoss(Loss):
    """Adaptive-thresholding loss: labels compete with the document's threshold; choose it where
    documents differ in how high their scores are, and no threshold is to be tuned.

    ``-sum over P of log(e^z / sum over P and t of e^z) - log(e^t / sum over N and t of e^z)``, mean
    over documents; in margins ``|P| lse(0, u_P) - sum u_P + lse(0, u_N)``.

    Shapes: logits (margins u) and targets B x C, targets 0 or 1; value scalar.

    >>> AdaptiveThresholdLoss()(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]])).item()  # 2 ln 2
    1.386...
    """

    name = "atl"
    title = "Adaptive thresholding"
    choose_when = "documents differ in how high their scores are, and no threshold is to be tuned"
    paper = ATLOP
    formula = r"""L &= \frac{1}{B} \sum_d \Bigl[
-\sum_{i \in P_d} \log \frac{e^{z_{di}}}{e^{t_d} + \sum_{k \in P_d} e^{z_{dk}}}
- \log \frac{e^{t_d}}{e^{t_d} + \sum_{j \in N_d} e^{z_{dj}}} \Bigr]"""
    threshold_logit = True

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Sum over labels, mean over documents."""
        with torch.no_grad():
            total, risen = weighted_logsumexp(logits, targets, anchor=True)
            above, fallen = weighted_logsumexp(logits, 1 - targets, anchor=True)
            positives = targets.sum(dim=1)
            values = positives * total - (logits * targets).sum(dim=1) + above
            slopes = risen.mul_(positives.unsqueeze(1)).sub_(targets).add_(fallen)
        return with_gradient(logits, values, slopes).mean()


class NoneClassRankingLoss(Loss):
    """None-class ranking loss: labels above a none class, the others below; choose it where many
    documents have no label at all.

    ``sum over labels of bce(z - t)`` plus ``bce(t - mean of z)`` with the target "has no label", mean
    over documents (eq. 2, 5). ``shift`` (gamma of eq. 6) takes negatives as ``-log min(1 - p + shift,
    1)``: easy ones cost nothing, the hardest, which may be mislabelled, pull less.

    Shapes: logits (margins u) and targets B x C, targets 0 or 1; value scalar.

    >>> NoneClassRankingLoss()(torch.zeros(1, 2), torch.zeros(1, 2)).item()  # 3 ln 2
    2.0794...
    """

    name = "ncrl"
    title = "None-class ranking"
    choose_when = "many documents have no label at all"
    paper = f"{NCRL}, eq. 2, 5, 6"
    formula = r"""L &= \frac{1}{B} \sum_d \Bigl[ \sum_j \operatorname{bce}(z_{dj} - t_d, y_{dj})
+ \operatorname{bce}(t_d - \bar{z}_d, \ 1 \text{ if } P_d \text{ is empty, else } 0) \Bigr]"""
    threshold_logit = True

    def __init__(
        self,
        *,
        shift: Annotated[
            float,
            Option("the authors' code: none", minimum=0, maximum=0.999, search=(0, 0.1)),
        ] = 0.0,
    ) -> None:
        super().__init__()
        self.shift = shift

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Sum over labels and the none class, mean over documents."""
        with torch.no_grad():
            values, slopes = self._entries(logits, targets > 0)
            unlabelled = ~targets.any(dim=1, keepdim=True)
            none, pull = self._entries(-logits.mean(dim=1, keepdim=True), unlabelled)
            values = values.sum(dim=1) + none.squeeze(1)
            slopes -= pull / logits.shape[1]
        return with_gradient(logits, values, slopes).mean()

    def _entries(self, margins: Tensor, positive: Tensor) -> tuple[Tensor, Tensor]:
        """Cross-entropy with shifted negatives, entry by entry, and its slopes."""
        sides = zip(
            focused_positives(margins, 0.0),
            clipped_negatives(margins, 0.0, self.shift),
            strict=True,
        )
        values, slopes = (torch.where(positive, ours, theirs) for ours, theirs in sides)
        return values, slopes
