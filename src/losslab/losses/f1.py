"""F1 losses: the soft F1 of a batch, the metric itself as the loss (Benedict et al. 2021, sigmoidF1).

``S = sigmoid(beta (z + eta))`` stands for a decision; tp, fp, fn are its sums over the batch, and the
value is ``1 - mean over labels of 2 tp / (2 tp + fn + fp + eps)``. The printed equations lack the
factor 2 and the "1 -". The batch must reach the loss whole, and be large enough to hold positives.

beta and eta keep their names; ``f_beta`` is the beta of eq. 8, ``average`` says over what the mean
goes: ``macro`` over all labels, ``present`` over those with a positive in the batch, ``micro`` over
the sums of all labels.
"""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor

from losslab.losses.base import Context, EpochLoss, Loss, RandomLoss
from losslab.losses.hyperparameters import Option
from losslab.losses.label_statistics import LabelStatistics

SIGMOID_F1 = "Benedict et al. 2021, sigmoidF1"
Average = Literal["macro", "present", "micro"]
FBeta = Annotated[float, Option("eq. 9: F1", minimum=1e-3, search=(0.5, 2), log=True)]
Averaged = Annotated[Average, Option("eq. 9, over all labels")]
TRIED = "our choice: a trial on validation data of CWE and Reuters"
OURS = "our choice: 4.2 says only that beta starts low and grows each epoch"
BATCH_F1 = r"""L &= 1 - \frac{1}{C} \sum_c
\frac{2\, \mathrm{tp}_c}{2\, \mathrm{tp}_c + \mathrm{fn}_c + \mathrm{fp}_c} \\
\mathrm{tp}_c &= \sum_i S_{ic} y_{ic}, \quad \mathrm{fn}_c = \sum_i (1 - S_{ic}) y_{ic}, \quad
\mathrm{fp}_c = \sum_i S_{ic} (1 - y_{ic}) \\
"""
"""Rows of formulas: all but S."""
KEPT = 64
"""States of a chain that are kept of each of its two later parts."""


def soft_f1(
    decisions: Tensor, targets: Tensor, *, f_beta: float = 1.0, average: Average = "macro"
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


class _F1Loss(Loss):
    """What the F1 losses share: soft decisions of a batch, and one minus their F."""

    accepts_soft_targets = True
    batchwise = True

    def __init__(
        self,
        *,
        beta: float | Sequence[float] = 1.0,
        eta: float | Sequence[float] = 0.0,
        from_probability: bool = False,
        f_beta: float,
        average: Average,
    ) -> None:
        super().__init__()
        self.keep(beta=beta, eta=eta)
        self.from_probability = from_probability
        self.f_beta, self.average = f_beta, average

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """One minus the batch's soft F1."""
        return self.soft_f1(self.decisions(logits, context), targets)

    def soft_f1(self, decisions: Tensor, targets: Tensor) -> Tensor:
        """One minus F, as ``f_beta`` and ``average`` say."""
        return soft_f1(decisions, targets, f_beta=self.f_beta, average=self.average)

    def decisions(self, logits: Tensor, context: Context) -> Tensor:
        """``sigmoid(beta (z + eta))``."""
        return torch.sigmoid(self.steepened(logits, context))

    def steepened(self, logits: Tensor, context: Context) -> Tensor:
        """``beta (z + eta)``, the logits of the decisions."""
        start = torch.sigmoid(logits) if self.from_probability else logits
        beta, eta = self.steepness(logits, context)
        for name, values in (("beta", beta), ("eta", eta)):
            if values.ndim == 1 and len(values) != logits.shape[1]:
                raise ValueError(
                    f"{self.name}: {name} has {len(values)} numbers for {logits.shape[1]} labels"
                )
        return beta * (start + eta)

    def steepness(self, like: Tensor, context: Context) -> tuple[Tensor, Tensor]:
        """beta and eta of this step."""
        return self.constant("beta", like), self.constant("eta", like)

    def scores(self, logits: Tensor) -> Tensor:
        """The S the loss trains."""
        return self.decisions(logits, {})

    def divergence(self, first: Tensor, second: Tensor) -> Tensor:
        """Symmetric KL of the decisions S, mean over labels."""
        return super().divergence(self.steepened(first, {}), self.steepened(second, {}))


class SoftF1Loss(_F1Loss):
    """Soft F1 loss: one minus the F1 of sigmoid(z) over the batch; choose it where F1 is the goal and
    batches are large.

    ``1 - mean_c 2 tp / (2 tp + fn + fp)`` with ``S = sigmoid(z)`` (eq. 9).

    Shapes: logits and targets B x C, targets in [0, 1], B >= 256 advised; value scalar.

    >>> SoftF1Loss().eval()(torch.full((2, 2), 99.0), torch.ones(2, 2)).item()
    0.0
    """

    name = "soft_f1"
    title = "Soft F1"
    choose_when = "F1 is the goal and batches are large"
    paper = f"{SIGMOID_F1}, eq. 9"
    formula = BATCH_F1 + r"S_{ic} &= \sigma(z_{ic})"

    def __init__(self, *, f_beta: FBeta = 1.0, average: Averaged = "macro") -> None:
        super().__init__(f_beta=f_beta, average=average)


class SigmoidF1Loss(_F1Loss):
    """sigmoidF1 loss: soft F1 with slope and offset of the decision; choose it as ``soft_f1``, where
    decisions should be sharper.

    ``1 - mean_c 2 tp / (2 tp + fn + fp)`` with ``S = sigmoid(beta (z + eta))`` (eq. 10, 11).
    ``beta`` and ``eta`` may be lists, a number per label; beta 1, eta 0 is ``soft_f1``.

    The defaults come from a grid of beta 1 to 5 and eta -1 to 1 (validation macro-F1 of the probe, 3
    seeds): 0.549 on CWE and 0.546 on Reuters, where soft F1 has 0.544 and 0.543; the differences are
    within the spread of seeds.

    ``input="probability"`` puts sigmoid(z) in place of z, as the authors' code does: with their eta of
    +1 gradients are near 1e-7 and nothing trains; take eta -0.5.

    Shapes: logits and targets B x C, targets in [0, 1], B >= 256 advised; value scalar.

    >>> SigmoidF1Loss().eval()(torch.full((2, 2), 99.0), torch.ones(2, 2)).item()
    0.0
    """

    name = "sigmoid_f1"
    title = "sigmoidF1"
    choose_when = "as for soft_f1, where decisions should be sharper"
    paper = f"{SIGMOID_F1}, eq. 11"
    formula = BATCH_F1 + r"S_{ic} &= \sigma \bigl( \beta (z_{ic} + \eta) \bigr)"

    def __init__(
        self,
        *,
        beta: Annotated[
            float | Sequence[float], Option(TRIED, minimum=1e-6, search=(0.5, 20), log=True)
        ] = 2.0,
        eta: Annotated[float | Sequence[float], Option(TRIED, search=(-2, 2))] = 0.0,
        input: Annotated[  # noqa: A002
            Literal["logit", "probability"], Option("our choice: probabilities hardly train")
        ] = "logit",
        f_beta: FBeta = 1.0,
        average: Averaged = "macro",
    ) -> None:
        super().__init__(
            beta=beta,
            eta=eta,
            from_probability=input == "probability",
            f_beta=f_beta,
            average=average,
        )


class AnnealedF1Loss(_F1Loss, EpochLoss):
    """sadF1 loss: sigmoidF1 whose slope grows each epoch; choose it as ``sigmoid_f1``, going from
    soft decisions to sharp ones.

    ``beta = min(beta_max, beta_0 * growth^epoch)`` (section 4.2), beta_0 ``beta``; the epoch is
    ``context["epoch"]``, remembered, so that evaluation keeps the last one's beta.

    Shapes: logits and targets B x C, targets in [0, 1], B >= 256 advised; value scalar.

    >>> loss = AnnealedF1Loss().eval()
    >>> loss(torch.full((2, 2), 99.0), torch.ones(2, 2), {"epoch": 3}).item()
    0.0
    """

    name = "sad_f1"
    title = "sigmoidF1, annealed"
    choose_when = "as for sigmoid_f1, going from soft decisions to sharp ones"
    paper = f"{SIGMOID_F1}, section 4.2"
    formula = BATCH_F1 + (
        r"S_{ic} &= \sigma \bigl( \beta (z_{ic} + \eta) \bigr), \quad "
        r"\beta = \min (\beta_{\max}, \beta_0\, g^{\mathrm{epoch}})"
    )
    needs = ("epoch",)

    def __init__(
        self,
        *,
        beta: Annotated[
            float | Sequence[float],
            Option(f"{OURS}; 1 is soft F1", minimum=1e-6, search=(0.5, 5), log=True),
        ] = 1.0,
        eta: Annotated[
            float | Sequence[float], Option("our choice: soft F1's", search=(-2, 2))
        ] = 0.0,
        beta_max: Annotated[float, Option(OURS, minimum=1e-6, search=(5, 30), log=True)] = 10.0,
        growth: Annotated[
            float, Option(f"{OURS}; reaches 10 after 13", minimum=1, search=(1, 2))
        ] = 1.2,
        f_beta: FBeta = 1.0,
        average: Averaged = "macro",
    ) -> None:
        super().__init__(beta=beta, eta=eta, f_beta=f_beta, average=average)
        self.beta_max, self.growth = beta_max, growth

    def steepness(self, like: Tensor, context: Context) -> tuple[Tensor, Tensor]:
        """beta as the epoch has it."""
        self.at_epoch(context)
        beta, eta = super().steepness(like, context)
        grown = beta * float(self.growth) ** self.epoch
        return grown.to(like.dtype).clamp_max(self.beta_max), eta


class BayesianF1Loss(_F1Loss, RandomLoss):
    """sBayesF1 loss: slope and offset of each label are sampled; choose it as ``sigmoid_f1``, without
    choosing beta and eta.

    ``S = sigmoid(beta_c (z + eta_c))`` (eq. 12). A Langevin chain (an MCMC method) per label on (log
    beta, eta) with the potential ``C * value + log(beta)^2 / 2 + eta^2 / 2`` makes one step per
    training step; prediction uses the mean of the chain's second half (at most three quarters: its
    sums are kept from the last power of two but one). :meth:`posterior` has states of that half.

    ``draw_per="document"`` draws, for each document of a batch, one of those states: beta and eta vary
    across examples, as the paper says of eq. 12. Else the documents of a batch share the chain's
    newest state. The chain moves alike. ``context["beta"]`` and ``context["eta"]`` give draws per
    document in place of the loss's own.

    Shapes: logits and targets B x C, targets in [0, 1], B >= 256 advised; value scalar.

    >>> loss = BayesianF1Loss(LabelStatistics([2, 2], documents=2)).eval()
    >>> loss(torch.full((2, 2), 99.0), torch.ones(2, 2)).item()
    0.0
    """

    name = "sbayes_f1"
    title = "sigmoidF1, beta and eta sampled"
    choose_when = "as for sigmoid_f1, without choosing beta and eta"
    paper = f"{SIGMOID_F1}, eq. 12"
    formula = BATCH_F1 + (
        r"S_{ic} &= \sigma \bigl( \beta_c (z_{ic} + \eta_c) \bigr), \quad "
        r"(\log \beta, \eta) \sim e^{-U}, \quad U = C L + \frac{1}{2} \sum_c (\log^2 \beta_c + \eta_c^2)"
    )
    needs = ("statistics",)
    sampled: ClassVar = {"beta": "lognormal", "eta": "normal"}

    chain: Tensor
    sums: Tensor
    counts: Tensor
    kept: Tensor

    def __init__(
        self,
        statistics: LabelStatistics,
        *,
        step_size: Annotated[
            float,
            Option(
                "our choice: 4.2 names MCMC, no step size",
                minimum=1e-9,
                search=(0.001, 0.1),
                log=True,
            ),
        ] = 0.01,
        draw_per: Annotated[
            Literal["batch", "document"],
            Option('our choice: 4.2 says "implicitly allowed to vary across examples"'),
        ] = "batch",
        f_beta: FBeta = 1.0,
        average: Averaged = "macro",
    ) -> None:
        super().__init__(f_beta=f_beta, average=average)
        self.labels, self.step_size = len(statistics.frequencies), step_size
        self.draw_per = draw_per
        self.register_buffer("chain", torch.zeros(2, self.labels))
        self.register_buffer("sums", torch.zeros(2, 2, self.labels))
        self.register_buffer("counts", torch.zeros(2, dtype=torch.int64))
        self.register_buffer("kept", torch.zeros(2, KEPT, 2, self.labels))

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """One minus the batch's soft F1 at the chain's state; then the chain moves."""
        if not self.training or "beta" in context:
            return super().compute(logits, targets, context)
        draws = self._draw(len(logits)) if self.draw_per == "document" else {}
        value = super().compute(logits, targets, {**context, **draws})
        self._move(logits.detach(), targets)
        return value

    def posterior(self) -> dict[str, Tensor]:
        """States of the chain's second half, evenly spaced: beta and eta, each draws x labels."""
        older, newer = self.counts.tolist()
        parts = self.kept[0, :older], self.kept[1, : newer // self._stride(older)]
        states = torch.cat(parts)
        return {"beta": states[:, 0].exp(), "eta": states[:, 1]}

    def _draw(self, documents: int) -> dict[str, Tensor]:
        """A state of the chain for each document, documents x labels; its newest before it has moved."""
        states = self.posterior()
        if not len(states["beta"]):
            states = {"beta": self.chain[:1].exp(), "eta": self.chain[1:]}
        rows = torch.randint(len(states["beta"]), (documents,), generator=self.generator)
        return {name: each[rows.to(each.device)] for name, each in states.items()}

    def steepness(self, like: Tensor, context: Context) -> tuple[Tensor, Tensor]:
        """Draws of the context, else the chain's state, else, in evaluation, its mean."""
        if "beta" in context or "eta" in context:
            draws = [len(context.get(key, ())) for key in ("beta", "eta")]
            if draws != [len(like)] * 2:
                raise ValueError(f"{self.name}: context must hold a beta and an eta per document")
            beta, eta = (torch.as_tensor(context[key]).to(like) for key in ("beta", "eta"))
            return beta.reshape(len(like), -1), eta.reshape(len(like), -1)
        walked = int(self.counts.sum())
        state = self.chain if self.training or not walked else self.sums.sum(dim=0) / walked
        return state[0].to(like.dtype).exp(), state[1].to(like.dtype)

    def _move(self, logits: Tensor, targets: Tensor) -> None:
        with torch.enable_grad():
            state = self.chain.detach().to(logits.dtype, copy=True).requires_grad_()
            decisions = torch.sigmoid(state[0].exp() * (logits + state[1]))
            fit = logits.shape[1] * self.soft_f1(decisions, targets)
            (slope,) = torch.autograd.grad(fit + state.square().sum() / 2, state)
        noise = torch.randn(self.chain.shape, generator=self.generator)
        self.chain -= self.step_size * slope.to(self.chain.dtype)
        self.chain += (2 * self.step_size) ** 0.5 * noise.to(self.chain.device)
        self.chain[0].clamp_(-10, 10)
        self._remember()

    def _remember(self) -> None:
        """Add the state to the newer sum; at a power of two that becomes the older one."""
        self.sums[1] += self.chain
        self.counts[1] += 1
        older, newer = self.counts.tolist()
        place, rest = divmod(newer, self._stride(older))
        if not rest:
            self.kept[1, place - 1] = self.chain
        if newer >= 2 * older:
            for part in (self.sums, self.counts, self.kept):
                part[0] = part[1]
            self.sums[1], self.counts[1] = 0, 0

    def _stride(self, older: int) -> int:
        """Every so many states one is kept, while the newer part grows to twice the older one."""
        return max(1, 2 * older // KEPT)
