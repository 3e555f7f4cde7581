"""What a loss says about itself: its options, what it needs, how its scores become decisions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from numbers import Real
from types import MappingProxyType
from typing import Any, Literal

Task = Literal["multi", "single"]
Need = Literal["statistics", "groups", "mask", "soft_targets", "epoch", "second_logits"]
Decision = Literal["sigmoid"]


@dataclass(frozen=True)
class Option:
    """A hyper-parameter of a loss: its default, where the default comes from, what it may be."""

    default: Any
    source: str
    minimum: float | None = None
    maximum: float | None = None
    words: tuple[str, ...] = ()
    """Strings accepted besides numbers, such as ``auto``."""

    def check(self, name: str, value: Any) -> None:
        """Raise ``ValueError`` that names the option and the values it takes."""
        if isinstance(value, str):
            if value not in self.words:
                expected = " or ".join(["a number", *map(repr, self.words)])
                raise ValueError(f"{name} must be {expected}, got {value!r}")
            return
        if isinstance(value, bool) or not isinstance(value, Real) or not isfinite(value):
            raise ValueError(f"{name} must be a number, got {value!r}")
        number = float(value)
        if self.minimum is not None and number < self.minimum:
            raise ValueError(f"{name} must be >= {self.minimum:g}, got {number:g}")
        if self.maximum is not None and number > self.maximum:
            raise ValueError(f"{name} must be <= {self.maximum:g}, got {number:g}")


@dataclass(frozen=True)
class LossSpec:
    """One row of ``LOSSES``.

    ``implementation`` is ``module:class`` below ``losslab.losses``; the class is called with the
    label statistics and the options by name.
    """

    name: str
    title: str
    family: str
    paper: str
    implementation: str
    options: Mapping[str, Option] = field(default_factory=dict)
    tasks: tuple[Task, ...] = ("multi",)
    needs: tuple[Need, ...] = ()
    accepts_soft_targets: bool = False
    decision: Decision = "sigmoid"

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", MappingProxyType(dict(self.options)))

    def defaults(self) -> dict[str, Any]:
        """The options as they are when nobody sets them."""
        return {name: option.default for name, option in self.options.items()}


@dataclass(frozen=True)
class LabelStatistics:
    """What the training split tells a loss about its labels.

    Args:
        frequencies: how many training documents carry each label, in the order of the logits.
        documents: how many training documents there are.
        mu: the figure that ``mu="auto"`` stands for; see ``losslab.targets.rebalancing_mu``.
    """

    frequencies: Sequence[int]
    documents: int
    mu: float | None = None

    def __post_init__(self) -> None:
        frequencies = tuple(int(n) for n in self.frequencies)
        if any(whole != given for whole, given in zip(frequencies, self.frequencies, strict=True)):
            raise ValueError("frequencies must be whole numbers")
        object.__setattr__(self, "frequencies", frequencies)
        if self.documents < 1:
            raise ValueError(f"documents must be at least 1, got {self.documents}")
        for label, count in enumerate(frequencies):
            if not 0 <= count <= self.documents:
                raise ValueError(
                    f"label {label} has frequency {count}, "
                    f"expected 0 to {self.documents} (the number of documents)"
                )
