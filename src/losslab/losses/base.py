"""What all losses share: a checked batch in, a scalar out, and scores to decide by."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from losslab.losses.checks import check_batch
from losslab.losses.divergence import symmetric_divergence

Context = Mapping[str, Any]
KNOWN = ("mask", "lam", "selected", "second_logits", "epoch", "soft_targets", "beta", "eta")
"""What a context may hold; each loss takes what it needs."""


class Loss(nn.Module):
    """A loss called with logits, targets (both documents x labels) and an optional context.

    ``build_loss`` sets ``name`` and ``soft`` from the ``LossSpec``; a loss bound to its label
    statistics sets ``labels``. Subclasses compute on a checked batch in float32 or float64.
    """

    name: str = ""
    soft: bool = False
    labels: int | None = None

    def __init__(self) -> None:
        super().__init__()
        self._constants: dict[str, Tensor] = {}
        self._cast: dict[tuple[str, torch.dtype, torch.device], Tensor] = {}

    def keep(self, **constants: Any) -> None:
        """Keep figures that never change, in float64 whatever the model's precision and device."""
        self._constants |= {
            name: torch.as_tensor(values, dtype=torch.float64) for name, values in constants.items()
        }

    def constant(self, name: str, like: Tensor) -> Tensor:
        """A kept figure in the type and on the device of ``like``."""
        key = (name, like.dtype, like.device)
        if key not in self._cast:
            with torch.inference_mode(
                False
            ):  # a tensor made in inference could not be trained with
                self._cast[key] = self._constants[name].to(dtype=like.dtype, device=like.device)
        return self._cast[key]

    def forward(self, logits: Tensor, targets: Tensor, context: Context | None = None) -> Tensor:
        """The loss of a batch; ``context`` holds what a loss needs besides."""
        name = self.name or type(self).__name__
        for key in context or ():
            if key not in KNOWN:
                raise ValueError(f"{name}: unknown context {key!r}; known: {', '.join(KNOWN)}")
        logits, targets = check_batch(name, logits, targets, soft=self.soft, labels=self.labels)
        return self.compute(logits, targets, context or {})

    def demand(self, context: Context, key: str, like: Tensor) -> Tensor:
        """A matrix of the context, in the type of ``like``; a missing or misshapen one is named."""
        if key not in context:
            raise ValueError(f"{self.name}: context['{key}'] (documents x labels) is missing")
        matrix = torch.as_tensor(context[key]).to(like)
        if matrix.shape != like.shape:
            raise ValueError(
                f"{self.name}: context['{key}'] must be documents x labels {tuple(like.shape)}, "
                f"got {tuple(matrix.shape)}"
            )
        return matrix

    def compute(self, logits: Tensor, targets: Tensor, context: Context) -> Tensor:
        """The value on a checked batch."""
        raise NotImplementedError

    def scores(self, logits: Tensor) -> Tensor:
        """What decisions are made by: probabilities, where the loss trains such."""
        return torch.sigmoid(logits)

    def divergence(self, first: Tensor, second: Tensor) -> Tensor:
        """How far two passes disagree, per document: symmetric KL, in the scale of the loss."""
        return symmetric_divergence(first, second) / first.shape[1]


class RandomLoss(Loss):
    """A loss that draws, on the CPU; its generator's state goes along with ``state_dict``."""

    def __init__(self) -> None:
        super().__init__()
        self.generator = torch.Generator().manual_seed(torch.initial_seed() % 2**63)

    def get_extra_state(self) -> Tensor:
        """The generator's state."""
        return self.generator.get_state()

    def set_extra_state(self, state: Tensor) -> None:
        """Continue the stream a state was taken from."""
        self.generator.set_state(state.cpu())


class _KnownGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor, value: Tensor, gradient: Tensor) -> Tensor:
        ctx.save_for_backward(gradient)
        return value.clone()

    @staticmethod
    def backward(ctx: Any, *outer: Tensor) -> tuple[Tensor, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * (outer[0].unsqueeze(1) if outer[0].ndim else outer[0]), None, None


def with_gradient(logits: Tensor, value: Tensor, gradient: Tensor) -> Tensor:
    """``value`` (one, or one per row) as a function of ``logits`` whose derivative is ``gradient``.

    For losses whose gradient is cheaper to write down than to record: one matrix is kept instead of
    one per operation.
    """
    known: Tensor = _KnownGradient.apply(logits, value, gradient)  # type: ignore[no-untyped-call]
    return known
