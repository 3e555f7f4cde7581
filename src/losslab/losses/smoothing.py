"""Soft targets: a loss on the labels plus a pull towards a given distribution.

Symbols of Liu et al. 2022 (KWLS): z ``logits``, l ``targets``, d ``context["soft_targets"]``, alpha
``alpha``; C is their p, the number of labels. After a training step ``parts`` has the two terms of
the value, ``hard_loss`` and ``soft_loss``.
"""

from typing import Annotated, Literal

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from losslab.losses.base import Context, Loss, Task, check_task
from losslab.losses.divergence import softmax_divergence
from losslab.losses.hyperparameters import Option

KWLS = "Liu et al. 2022, Label Smoothing for Text Mining (KWLS)"

SMOOTHED = r"""L &= \frac{1}{B} \sum_i \frac{h_i + \frac{\alpha}{C} \sum_j
\bigl( d_{ij} - \operatorname{softmax}(z_i)_j \bigr)^2}{2 (1 + \alpha)^2} \\
"""
"""Rows of formulas: h is the hard loss, all but the soft targets d."""


class _SoftTargetLoss(Loss):
    """A hard loss plus the squared distance to soft targets (eq. 9)."""

    needs = ("soft_targets", "task")

    def __init__(
        self,
        *,
        task: Task = "multi",
        alpha: Annotated[
            float,
            Option(
                "our choice: eq. 9 names no value; 1 weighs both targets alike",
                minimum=0,
                search=(0.1, 10),
                log=True,
            ),
        ] = 1.0,
        auxiliary: Annotated[
            Literal["softmax", "sigmoid"], Option("eq. 8, 9: d sums to 1, sigmoids do not")
        ] = "softmax",
    ) -> None:
        super().__init__()
        check_task(self.name, task)
        self.alpha, self.single, self.auxiliary = alpha, task == "single", auxiliary

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents; ``parts`` are ``hard_loss`` and ``soft_loss``."""
        if self.single:
            hard = F.cross_entropy(logits, targets, reduction="none")
        else:
            hard = F.binary_cross_entropy_with_logits(logits, targets, reduction="none").sum(dim=1)
        soft, divisor = self._pull(logits, context), 2 * (1 + self.alpha) ** 2
        if self.training:
            terms = {"hard_loss": hard, "soft_loss": soft}
            self.parts = {name: term.detach().mean() / divisor for name, term in terms.items()}
        return (hard + soft).mean() / divisor

    def scores(self, logits: Tensor) -> Tensor:
        """As the hard loss has them."""
        return torch.softmax(logits, dim=1) if self.single else torch.sigmoid(logits)

    def divergence(self, first: Tensor, second: Tensor) -> Tensor:
        """Symmetric KL of the distributions the scores stand for."""
        if self.single:
            return softmax_divergence(first, second)
        return super().divergence(first, second)

    def _pull(self, logits: Tensor, context: Context) -> Tensor:
        absent = context.get("soft_targets") is None
        if absent and ("soft_targets" in context or not self.training):
            return logits.new_zeros(())
        soft = self.demand(context, "soft_targets", logits)
        guess = torch.softmax(logits, dim=1) if self.auxiliary == "softmax" else logits.sigmoid()
        distance: Tensor = (soft - guess).square().mean(dim=1)
        return self.alpha * distance


class KeywordSmoothingLoss(_SoftTargetLoss):
    """KWLS loss: pulls towards soft labels made of the document's keywords; choose it where words
    tell labels apart and labels are few per document.

    ``mean_i [hard_i + alpha/C * sum_j (d_ij - softmax(z_i)_j)^2] / (2 (1 + alpha)^2)`` (eq. 9). The
    hard loss is softmax cross-entropy (``task="single"``) or the sum over labels of bce. The authors'
    code has a second head, and twice the value. On multi-label data the hard sum outweighs the pull:
    alpha is worth a sweep.

    Soft targets belong to training documents; in evaluation mode they may be left out. In training,
    ``None`` trains with the hard loss alone, as section 5.7 does before it switches them on.

    Shapes: logits, targets and soft targets B x C, targets 0 or 1; value scalar.

    >>> loss, targets = KeywordSmoothingLoss(task="single"), torch.tensor([[1.0, 0.0]])
    >>> soft_targets = torch.tensor([[0.75, 0.25]])
    >>> loss(torch.zeros(1, 2), targets, {"soft_targets": soft_targets}).item()  # (ln 2 + 1/16) / 8
    0.0944...
    """

    name = "kwls"
    title = "Keyword label smoothing"
    choose_when = "words tell labels apart and labels are few per document"
    reads_words = True
    paper = f"{KWLS}, eq. 9"
    formula = SMOOTHED + r"d_i &\ \text{from keywords of the document (BM25)}"


class TfidfSmoothingLoss(_SoftTargetLoss):
    """LS-TFIDF loss: as ``kwls`` with soft labels made of TF-IDF weights; choose it as a plainer
    baseline for ``kwls``.

    The value is that of :class:`KeywordSmoothingLoss` (eq. 9), d from TF-IDF (section 5.2).

    Shapes: logits, targets and soft targets B x C, targets 0 or 1; value scalar.

    >>> loss, targets = TfidfSmoothingLoss(task="single"), torch.tensor([[1.0, 0.0]])
    >>> loss.eval()(torch.zeros(1, 2), targets).item()  # ln 2 / 8
    0.0866...
    """

    name = "ls_tfidf"
    title = "TF-IDF label smoothing"
    choose_when = "a plainer kwls to compare with"
    reads_words = True
    paper = f"{KWLS}, section 5.2"
    formula = SMOOTHED + r"d_i &\ \text{from TF-IDF weights of the document}"


class ClassicSmoothingLoss(_SoftTargetLoss):
    """LS-Classic loss: as ``kwls`` with uniformly smoothed labels; choose it where labels are noisy.

    The value is that of :class:`KeywordSmoothingLoss` (eq. 9) with
    ``d = (1 - eps) * y / |y| + eps / C`` (section 5.2; Szegedy et al. 2016).

    Shapes: logits, targets and soft targets B x C, targets 0 or 1; value scalar.

    >>> loss, targets = ClassicSmoothingLoss(task="single"), torch.tensor([[1.0, 0.0]])
    >>> loss.eval()(torch.zeros(1, 2), targets).item()  # ln 2 / 8
    0.0866...
    """

    name = "ls_classic"
    title = "Classic label smoothing"
    choose_when = "labels are noisy"
    paper = f"{KWLS}, section 5.2"
    formula = SMOOTHED + r"d_{ij} &= (1 - \varepsilon) \frac{y_{ij}}{|y_i|} + \frac{\varepsilon}{C}"


class DistillationLoss(_SoftTargetLoss):
    """LS-Distill loss: as ``kwls`` with the predictions of a trained baseline; choose it where that
    baseline knows which labels are alike.

    The value is that of :class:`KeywordSmoothingLoss` (eq. 9) with ``d = softmax`` of the baseline's
    logits (section 5.2).

    Shapes: logits, targets and soft targets B x C, targets 0 or 1; value scalar.

    >>> loss, targets = DistillationLoss(task="single"), torch.tensor([[1.0, 0.0]])
    >>> loss.eval()(torch.zeros(1, 2), targets).item()  # ln 2 / 8
    0.0866...
    """

    name = "ls_distill"
    title = "Distilled labels"
    choose_when = "a trained baseline knows which labels are alike"
    paper = f"{KWLS}, section 5.2"
    formula = SMOOTHED + r"d_i &= \operatorname{softmax}(z_i \text{ of the baseline})"
