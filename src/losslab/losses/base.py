"""The base class of all losses: a checked batch in, a scalar out, and scores to decide by."""

from collections.abc import Callable, Mapping
from inspect import Signature, getattr_static, signature
from typing import Any, ClassVar, Literal, Self, get_args

import torch
from torch import Tensor, nn

from losslab.losses.checks import check_batch, warn_of_small_batch
from losslab.losses.divergence import symmetric_divergence
from losslab.losses.hyperparameters import Hyperparameter, check_declarations, read_hyperparameters

Task = Literal["multi", "single"]
Need = Literal["statistics", "groups", "task", "mask", "soft_targets", "epoch", "second_logits"]
Decision = Literal["probability", "score"]
Prior = Literal["normal", "lognormal"]
Context = Mapping[str, Any]
CONTEXT_KEYS = ("mask", "lam", "selected", "second_logits", "epoch", "soft_targets", "beta", "eta")
"""What a context may hold; each loss takes what it needs."""


class Loss(nn.Module):
    """A loss, called with logits, targets (both documents x labels) and an optional context.

    A subclass states its facts as class attributes and its hyperparameters in the signature of its
    constructor, keyword-only, each annotated with an ``Option``; their values are checked before the
    constructor runs. It implements :meth:`compute` on a checked batch in float32 or float64. The
    declarations of a class with a ``name`` are checked when it is defined; a base class has none.
    """

    name: ClassVar[str] = ""
    """Its key in ``LOSSES``."""
    title: ClassVar[str] = ""
    paper: ClassVar[str] = ""
    choose_when: ClassVar[str] = ""
    formula: ClassVar[str] = ""
    r"""LaTeX, the paper's symbols: rows of an equation; ``&`` aligns them, ``\\`` ends one."""
    family: ClassVar[str] = ""
    """The module it stands in."""
    tasks: ClassVar[tuple[Task, ...]] = ("multi", "single")
    needs: ClassVar[tuple[Need, ...]] = ()
    """What it takes besides hyperparameters, logits and targets."""
    reads_words: ClassVar[bool] = False
    """Whether what it needs is made of the documents' words, which images have not."""
    decision: ClassVar[Decision] = "probability"
    """Whether its scores are probabilities, threshold 0.5 unless tuned, or have no natural threshold."""
    accepts_soft_targets: ClassVar[bool] = False
    sampled: ClassVar[Mapping[str, Prior]] = {}
    """Parameters it samples for each label, with their standard prior; ``posterior`` has the draws."""
    batchwise: ClassVar[bool] = False
    """Whether its value is a statistic of the batch and no mean over documents."""
    threshold_logit: ClassVar[bool] = False
    """Whether its logits are margins ``z - t``: beside z, a model learns t, a threshold per document."""

    __signature__: ClassVar[Signature]
    labels: int | None = None
    """The number of labels its statistics have."""
    parts: Mapping[str, Tensor]
    """The terms of its last value in training mode, by name; they add up to it. Most have no name."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls.family = cls.__module__.rpartition(".")[2]
        of_instances = signature(getattr_static(cls, "__init__"))
        cls.__signature__ = of_instances.replace(
            parameters=list(of_instances.parameters.values())[1:], return_annotation=cls
        )
        if cls.name:
            cls._check_declarations()

    def __new__(cls, *_: Any, **options: Any) -> Self:
        """Check the hyperparameters; arguments of other kinds are the constructor's business."""
        hyperparameters = cls.options()
        for name in options.keys() & hyperparameters.keys():
            cls._check(hyperparameters[name], options[name])
        return super().__new__(cls)

    def __init__(self) -> None:
        super().__init__()
        self.parts = {}
        self._constants: dict[str, Tensor] = {}
        self._cast: dict[tuple[str, torch.dtype, torch.device], Tensor] = {}

    @classmethod
    def options(cls) -> dict[str, Hyperparameter]:
        """Its hyperparameters by name, in the order of the signature."""
        return {each.name: each for each in read_hyperparameters(getattr_static(cls, "__init__"))}

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """The values of its hyperparameters where nobody sets them."""
        return {name: option.default for name, option in cls.options().items()}

    @classmethod
    def _check_declarations(cls) -> None:
        for need in cls.needs:
            if need not in get_args(Need):
                known = ", ".join(get_args(Need))
                raise TypeError(f"{cls.__name__}: unknown need {need!r}; known: {known}")
        try:
            check_declarations(getattr_static(cls, "__init__"), cls.needs)
        except TypeError as error:
            raise TypeError(f"{cls.__name__}: {error}") from None

    @classmethod
    def _check(cls, option: Hyperparameter, value: Any) -> None:
        try:
            option.check(value)
        except ValueError as error:
            raise ValueError(f"{cls.name or cls.__name__}: {error}") from None

    def keep(self, **constants: Any) -> None:
        """Keep numbers that never change, in float64 whatever the model's precision and device."""
        self._constants |= {
            name: torch.as_tensor(values, dtype=torch.float64) for name, values in constants.items()
        }

    def constant(self, name: str, like: Tensor) -> Tensor:
        """A kept number in the type and on the device of ``like``."""
        key = (name, like.dtype, like.device)
        if key not in self._cast:
            with torch.inference_mode(False):  # an inference tensor could not be trained with
                self._cast[key] = self._constants[name].to(dtype=like.dtype, device=like.device)
        return self._cast[key]

    def forward(self, logits: Tensor, targets: Tensor, context: Context | None = None) -> Tensor:
        """The loss of a batch; ``context`` holds what a loss needs besides."""
        name = self.name or type(self).__name__
        for key in context or ():
            if key not in CONTEXT_KEYS:
                known = ", ".join(CONTEXT_KEYS)
                raise ValueError(f"{name}: unknown context {key!r}; known: {known}")
        soft = self.accepts_soft_targets
        logits, targets = check_batch(name, logits, targets, soft=soft, labels=self.labels)
        if self.batchwise and self.training:
            warn_of_small_batch(name, len(logits))
        value = self.compute(logits, targets, context or {})
        if value.ndim:
            raise ValueError(
                f"{name}: compute must return a scalar, got shape {tuple(value.shape)}"
            )
        return value

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
        name = type(self).__name__
        raise NotImplementedError(f"{name}: write compute(self, logits, targets, context)")

    def scores(self, logits: Tensor) -> Tensor:
        """What decisions are made by: sigmoid(z), or z where the loss trains no probability."""
        return logits if self.decision == "score" else torch.sigmoid(logits)

    def posterior(self) -> dict[str, Tensor]:
        """Draws of each parameter of ``sampled``: draws x labels."""
        return {}

    def divergence(self, first: Tensor, second: Tensor) -> Tensor:
        """How far two passes disagree, per document: symmetric KL, in the scale of the loss."""
        return symmetric_divergence(first, second) / first.shape[1]


def check_task(name: str, task: str) -> None:
    """Raise ``ValueError`` where ``task`` is neither ``multi`` nor ``single``."""
    if task not in get_args(Task):
        raise ValueError(f"{name}: task must be 'multi' or 'single', got {task!r}")


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


class EpochLoss(Loss):
    """A loss that changes with the epoch, which it is told in training and remembers."""

    epoch: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("epoch", torch.zeros((), dtype=torch.int64))

    def at_epoch(self, context: Context) -> int:
        """``context["epoch"]`` in training mode, where given; else the last one told."""
        if self.training and "epoch" in context:
            self.epoch.fill_(int(context["epoch"]))
        return int(self.epoch)


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
    one per operation. ``benchmarks/loss_cost.py --gradients`` compares both ways.
    """
    attach: Callable[[Tensor, Tensor, Tensor], Tensor] = _KnownGradient.apply
    return attach(logits, value, gradient)
