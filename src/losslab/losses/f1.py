"""Soft F1 over a batch: the metric itself as the loss (Benedict et al. 2021, sigmoidF1).

``S = sigmoid(beta (z + eta))`` stands for a decision; tp, fp, fn are its sums over the batch, and the
value is ``1 - mean over labels of 2 tp / (2 tp + fn + fp + eps)``. The printed equations lack the
factor 2 and the "1 -". The batch must reach the loss whole, and be large enough to hold positives.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from losslab.losses.base import Context, Loss, RandomLoss
from losslab.losses.checks import warn_of_small_batch
from losslab.losses.spec import LabelStatistics


def soft_f1(
    decisions: Tensor, targets: Tensor, *, f_beta: float = 1.0, average: str = "macro"
) -> Tensor:
    """``1 - F`` of soft decisions in [0, 1], by label over the batch.

    ``average``: ``macro`` over all labels (the paper's), ``present`` over those with a positive in
    the batch, ``micro`` of the sums over all labels. ``f_beta`` > 1 favours recall.

    >>> soft_f1(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0]]), average="present").item()
    0.0
    """
    hits, guessed, true = (
        (decisions * targets).sum(dim=0),
        decisions.sum(dim=0),
        targets.sum(dim=0),
    )
    if average == "micro":
        hits, guessed, true = hits.sum(), guessed.sum(), true.sum()
    square = f_beta**2
    tiny = 1e-16 if decisions.dtype == torch.float64 else 1e-8
    score = (1 + square) * hits / (square * true + guessed + tiny)
    if average == "present":
        present = true > 0
        return 1 - torch.where(present, score, 0).sum() / present.sum().clamp_min(1)
    return 1 - score.mean()


class SigmoidF1Loss(Loss):
    """sigmoidF1: F1 as the loss, its steepness and offset given; ``soft_f1`` is beta 1, eta 0.

    (eq. 11; eq. 9 without beta and eta.) ``input="probability"`` puts sigmoid(z) in place of z, as
    the authors' code does: with their eta of +1 gradients are near 1e-7 and nothing trains; take
    eta -0.5. ``beta`` and ``eta`` may be lists, one figure per label.

    >>> loss = SigmoidF1Loss(beta=1.0, eta=0.0)
    >>> loss(torch.full((2, 2), 99.0), torch.ones(2, 2)).item()
    0.0
    """

    def __init__(
        self,
        statistics: LabelStatistics | None = None,
        *,
        beta: float | Sequence[float] = 1.0,
        eta: float | Sequence[float] = 0.0,
        input: str = "logit",  # noqa: A002
        f_beta: float = 1.0,
        average: str = "macro",
    ) -> None:
        super().__init__()
        self.keep(beta=beta, eta=eta)
        self.from_probability = input == "probability"
        self.options: dict[str, Any] = {"f_beta": f_beta, "average": average}

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """One minus the batch's soft F1."""
        if self.training:
            warn_of_small_batch(self.name, len(logits))
        return soft_f1(self.decisions(logits, context), targets, **self.options)

    def decisions(self, logits: Tensor, context: Context) -> Tensor:
        """``sigmoid(beta (z + eta))``."""
        start = torch.sigmoid(logits) if self.from_probability else logits
        beta, eta = self.steepness(logits, context)
        for name, figures in (("beta", beta), ("eta", eta)):
            if figures.ndim == 1 and len(figures) != logits.shape[1]:
                raise ValueError(
                    f"{self.name}: {name} has {len(figures)} figures for {logits.shape[1]} labels"
                )
        return torch.sigmoid(beta * (start + eta))

    def steepness(self, like: Tensor, context: Context) -> tuple[Tensor, Tensor]:
        """beta and eta of this step."""
        return self.constant("beta", like), self.constant("eta", like)

    def scores(self, logits: Tensor) -> Tensor:
        """The S the loss trains."""
        return self.decisions(logits, {})


class AnnealedF1Loss(SigmoidF1Loss):
    """sadF1: beta grows each epoch, from a gentle slope to a sharp decision.

    ``beta = min(beta_max, beta_0 * growth^epoch)``; the epoch is ``context["epoch"]``, remembered,
    so that evaluation keeps the last one's beta.
    """

    epoch: Tensor

    def __init__(
        self,
        statistics: LabelStatistics | None = None,
        *,
        beta_max: float,
        growth: float,
        **options: Any,
    ) -> None:
        super().__init__(statistics, **options)
        self.beta_max, self.growth = beta_max, growth
        self.register_buffer("epoch", torch.zeros((), dtype=torch.int64))

    def steepness(self, like: Tensor, context: Context) -> tuple[Tensor, Tensor]:
        """beta as the epoch has it."""
        if self.training and "epoch" in context:
            self.epoch.fill_(int(context["epoch"]))
        beta, eta = super().steepness(like, context)
        grown = beta * float(self.growth) ** self.epoch
        return grown.to(like.dtype).clamp_max(self.beta_max), eta


class BayesianF1Loss(SigmoidF1Loss, RandomLoss):
    """sBayesF1: beta and eta of each label are drawn, by Langevin dynamics, instead of chosen.

    (eq. 12.) A chain per label on (log beta, eta) with the potential ``C * value + log(beta)^2 / 2 +
    eta^2 / 2`` makes one step per training step; prediction uses the mean of the chain's second half
    (at most three quarters: its sums are kept from the last power of two but one).
    ``context["beta"]`` and ``context["eta"]`` give draws per document instead.
    """

    chain: Tensor
    sums: Tensor
    counts: Tensor

    def __init__(
        self,
        statistics: LabelStatistics,
        *,
        step_size: float,
        f_beta: float = 1.0,
        average: str = "macro",
    ) -> None:
        super().__init__(statistics, f_beta=f_beta, average=average)
        self.labels, self.step_size = len(statistics.frequencies), step_size
        self.register_buffer("chain", torch.zeros(2, self.labels))
        self.register_buffer("sums", torch.zeros(2, 2, self.labels))
        self.register_buffer("counts", torch.zeros(2, dtype=torch.int64))

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """One minus the batch's soft F1 at the chain's present place; then the chain moves."""
        value = super().compute(logits, targets, context)
        if self.training and "beta" not in context:
            self._move(logits.detach(), targets)
        return value

    def steepness(self, like: Tensor, context: Context) -> tuple[Tensor, Tensor]:
        """Draws of the context, else the chain's place, else, in evaluation, its mean."""
        if "beta" in context or "eta" in context:
            if len(context.get("beta", ())) != len(like) or len(context.get("eta", ())) != len(
                like
            ):
                raise ValueError(f"{self.name}: context must hold a beta and an eta per document")
            beta, eta = (torch.as_tensor(context[key]).to(like) for key in ("beta", "eta"))
            return beta.reshape(-1, 1), eta.reshape(-1, 1)
        walked = int(self.counts.sum())
        place = self.chain if self.training or not walked else self.sums.sum(dim=0) / walked
        return place[0].to(like.dtype).exp(), place[1].to(like.dtype)

    def _move(self, logits: Tensor, targets: Tensor) -> None:
        with torch.enable_grad():
            place = self.chain.detach().to(logits.dtype, copy=True).requires_grad_()
            decisions = torch.sigmoid(place[0].exp() * (logits + place[1]))
            fit = logits.shape[1] * soft_f1(decisions, targets, **self.options)
            (slope,) = torch.autograd.grad(fit + place.square().sum() / 2, place)
        noise = torch.randn(self.chain.shape, generator=self.generator)
        self.chain -= self.step_size * slope.to(self.chain.dtype)
        self.chain += (2 * self.step_size) ** 0.5 * noise.to(self.chain.device)
        self.chain[0].clamp_(-10, 10)
        self._remember()

    def _remember(self) -> None:
        """Add the place to the newer sum; at a power of two that becomes the older one."""
        self.sums[1] += self.chain
        self.counts[1] += 1
        if self.counts[1] >= 2 * self.counts[0]:
            self.sums[0], self.counts[0] = self.sums[1].clone(), self.counts[1].clone()
            self.sums[1], self.counts[1] = 0, 0
