"""What a loss says about itself: its options, what it needs, how its scores become decisions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from numbers import Real
from types import MappingProxyType
from typing import Any, Literal

Task = Literal["multi", "single"]
Need = Literal["statistics", "groups", "mask", "soft_targets", "epoch", "second_logits"]
Decision = Literal["probability", "score"]


@dataclass(frozen=True)
class Option:
    """A hyper-parameter of a loss: its default, where the default comes from, what it may be.

    A default of True or False makes it a switch. ``words`` are strings it accepts; besides numbers,
    or instead of them where ``number`` is off. ``per_label`` also accepts a list of numbers.
    A default without a fraction, such as 0 and unlike 0.0, asks for whole numbers.
    """

    default: Any
    source: str
    minimum: float | None = None
    maximum: float | None = None
    words: tuple[str, ...] = ()
    number: bool = True
    per_label: bool = False

    def check(self, name: str, value: Any) -> None:
        """Raise ``ValueError`` that names the option and the values it takes."""
        if self.per_label and isinstance(value, list | tuple):
            for each in value:
                self._check_number(name, each)
        elif isinstance(self.default, bool):
            if not isinstance(value, bool):
                raise ValueError(f"{name} must be true or false, got {value!r}")
        elif not (isinstance(value, str) and value in self.words):
            self._check_number(name, value)

    def _check_number(self, name: str, value: Any) -> None:
        is_number = isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)
        if not (is_number and self.number):
            choices = [*(["a number"] if self.number else []), *map(repr, self.words)]
            raise ValueError(f"{name} must be {' or '.join(choices)}, got {value!r}")
        number = float(value)
        if type(self.default) is int and number != int(number):
            raise ValueError(f"{name} must be a whole number, got {number:g}")
        if self.minimum is not None and number < self.minimum:
            raise ValueError(f"{name} must be >= {self.minimum:g}, got {number:g}")
        if self.maximum is not None and number > self.maximum:
            raise ValueError(f"{name} must be <= {self.maximum:g}, got {number:g}")


@dataclass(frozen=True)
class LossSpec:
    """One row of ``LOSSES``.

    ``implementation`` is ``module:class`` below ``losslab.losses``; the class is called with the
    label statistics (and groups, where it needs them) and the options by name. ``decision`` says
    whether its scores are probabilities, cut at 0.5 unless tuned, or scores without a natural cut.
    ``whole_batch``: its value is not a mean over documents, so that it wants large batches.
    """

    name: str
    title: str
    choose_when: str
    family: str
    paper: str
    implementation: str
    options: Mapping[str, Option] = field(default_factory=dict)
    tasks: tuple[Task, ...] = ("multi", "single")
    needs: tuple[Need, ...] = ()
    accepts_soft_targets: bool = False
    decision: Decision = "probability"
    whole_batch: bool = False

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
        mu: the figure that ``mu="auto"`` stands for; see ``losslab.supervision.rebalancing_mu``.
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
