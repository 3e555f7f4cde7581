"""Mask losses: labels close to the gold ones are left out of most steps and not pushed away.

``mean_i 1/C (lam * sum_k bce + (1 - lam) * sum over unmasked k of bce)``, ``lam ~ Bernoulli(alpha)``,
one draw per training step (eq. 3); ``context["lam"]`` gives the draw. alpha = 1 is BCE, alpha = 0
always masks. In evaluation mode nothing is masked.
"""

from typing import Annotated, Any

import torch
from torch import Tensor

from losslab.losses.base import Context, RandomLoss
from losslab.losses.cross_entropy import pointwise
from losslab.losses.hyperparameters import Option
from losslab.losses.label_statistics import LabelStatistics

MASK = "Liu et al., MaskLoss: A Regularizing Loss by Masking Similar Labels"

MASKED = r"""L &= \frac{1}{BC} \sum_i \Bigl( \lambda \sum_k b_{ik}
+ (1 - \lambda) \sum_{k \notin G_i} b_{ik} \Bigr), \quad b_{ik} = \operatorname{bce}(z_{ik}, y_{ik}) \\
\lambda &\sim \operatorname{Bernoulli}(\alpha) \\
"""
"""Rows of formulas: all but the masked labels G_i."""


class _MaskLoss(RandomLoss):
    def __init__(self, *, alpha: float) -> None:
        super().__init__()
        self.alpha = alpha

    def masked(self, targets: Tensor, context: Context) -> Tensor:
        """Documents x labels: true where an entry may be left out."""
        raise NotImplementedError

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """Mean over documents x labels; ``context["lam"]`` gives the draw."""
        if not self.training and "lam" not in context:
            return pointwise(logits, targets)
        masked = self.masked(targets, context)
        lam = float(context["lam"]) if "lam" in context else self._draw()
        if not 0 <= lam <= 1:
            raise ValueError(f"{self.name}: context['lam'] must lie in [0, 1], got {lam:g}")
        return pointwise(logits, targets, weight=torch.where(masked, lam, 1.0).to(logits.dtype))

    def _draw(self) -> float:
        return float(torch.rand((), generator=self.generator) < self.alpha)


class MaskLabelLoss(_MaskLoss):
    """Label-based MaskLoss: masks negatives in a group of a gold label; choose it where labels fall
    into families whose members are alike.

    Eq. 3. ``groups``: a group id per label, or a labels x groups membership where groups overlap.

    Shapes: logits and targets B x C, targets 0 or 1, groups C or C x G; value scalar.

    >>> loss = MaskLabelLoss(LabelStatistics([5, 5], documents=9), groups=[0, 0])
    >>> loss(torch.zeros(1, 2), torch.tensor([[1.0, 0.0]]), {"lam": 0}).item()  # ln 2 / 2
    0.346...
    """

    name = "mask_label"
    title = "MaskLoss by label groups"
    choose_when = "labels fall into families whose members are alike"
    paper = f"{MASK}, eq. 3"
    formula = MASKED + r"G_i &= \{ k : y_{ik} = 0, \ k \text{ in a group of a gold label of } i \}"
    needs = ("statistics", "groups")

    pairs: Tensor

    def __init__(
        self,
        statistics: LabelStatistics,
        *,
        groups: Any,
        alpha: Annotated[
            float,
            Option(
                "our choice: 6.1, Figure 1 peaks between the ends",
                minimum=0,
                maximum=1,
                search=(0, 1),
            ),
        ] = 0.5,
    ) -> None:
        super().__init__(alpha=alpha)
        self.labels = len(statistics.frequencies)
        try:
            pairs = membership_pairs(groups, self.labels)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None
        self.groups = int(pairs[1].max()) + 1 if pairs.numel() else 0
        self.register_buffer("pairs", pairs, persistent=False)

    def masked(self, targets: Tensor, context: Context) -> Tensor:
        """Negatives in a group of a gold label."""
        label, group = self.pairs.to(targets.device)
        touched = targets.new_zeros(len(targets), self.groups)
        touched.index_add_(1, group, targets[:, label])
        shared = torch.zeros_like(targets)
        shared.index_add_(1, label, touched[:, group])
        return (shared > 0) & (targets == 0)


class MaskElementLoss(_MaskLoss):
    """Element-based MaskLoss: masks labels that the document's own words speak for; choose it where
    documents hold words that speak for labels they do not carry.

    Eq. 3 with G_i of section A.3: ``context["mask"]`` (1 = in G_i), from a trained ``bce`` model. Gold
    labels are never masked unless ``protect_gold`` is off.

    Shapes: logits, targets and mask B x C, targets 0 or 1; value scalar.

    >>> loss, targets = MaskElementLoss(), torch.tensor([[1.0, 0.0]])
    >>> loss(torch.zeros(1, 2), targets, {"mask": torch.ones(1, 2), "lam": 0}).item()  # ln 2 / 2
    0.346...
    """

    name = "mask_element"
    title = "MaskLoss by elements"
    choose_when = "documents hold words that speak for labels they do not carry"
    paper = f"{MASK}, eq. 3, A.3"
    formula = MASKED + r"G_i &= \{ k : y_{ik} = 0, \ \text{words of } i \text{ speak for } k \}"
    needs = ("mask",)
    reads_words = True

    def __init__(
        self,
        *,
        alpha: Annotated[
            float,
            Option(
                "our choice: 6.1, Figure 1 falls as alpha grows",
                minimum=0,
                maximum=1,
                search=(0, 1),
            ),
        ] = 0.1,
        protect_gold: Annotated[bool, Option("3.2: G(k) holds no gold label")] = True,
    ) -> None:
        super().__init__(alpha=alpha)
        self.protect_gold = protect_gold

    def masked(self, targets: Tensor, context: Context) -> Tensor:
        """The document's group, gold labels excepted."""
        mask = self.demand(context, "mask", targets) != 0
        return mask & (targets == 0) if self.protect_gold else mask


def membership_pairs(groups: Any, labels: int) -> Tensor:
    """2 x pairs: labels and the groups they belong to; from ids, a dense or a sparse matrix.

    Pairs, because labels x groups fills gigabytes where thousands of labels have groups of few.
    """
    if hasattr(groups, "tocoo"):
        entries = groups.tocoo()
        pairs = torch.stack([torch.as_tensor(entries.row), torch.as_tensor(entries.col)])
        pairs, rows = pairs[:, torch.as_tensor(entries.data != 0)].long(), groups.shape[0]
    else:
        matrix = torch.as_tensor(groups)
        rows = len(matrix)
        if matrix.ndim == 1:
            _, ids = torch.unique(matrix, return_inverse=True)
            pairs = torch.stack([torch.arange(rows), ids])
        else:
            pairs = matrix.to_dense().nonzero().T
    if rows != labels:
        raise ValueError(f"groups are given for {rows} labels, expected {labels}")
    return pairs
