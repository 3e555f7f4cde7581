"""The search space of a loss: its options that have a range or choices, and its learning rate."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from numbers import Real
from typing import Any

from optuna import Trial

from losslab.losses import LOSSES, Hyperparameter
from losslab.parameters import LossSettings
from losslab.parameters.losses import LEARNING_RATE

NUMBER = "a number"
"""The choice of an option that is a word or a number; its number is a dimension of its own."""


@dataclass(frozen=True)
class Dimension:
    """What a search tries of one setting: choices, a range, or both.

    Args:
        default: the value of the first trial.
        low, high: the range; equal where there is none.
    """

    name: str
    default: Any
    choices: tuple[Any, ...] = ()
    low: float = 0.0
    high: float = 0.0
    log: bool = False

    @property
    def has_range(self) -> bool:
        """Whether numbers of a range are tried."""
        return self.low < self.high

    def suggest(self, trial: Trial) -> Any:
        """The value of a trial."""
        if self.choices:
            kinds = [*self.choices, NUMBER] if self.has_range else [*self.choices]
            chosen = trial.suggest_categorical(self.name, kinds)
            if not self.has_range or chosen != NUMBER:
                return chosen
        return trial.suggest_float(self._number, self.low, self.high, log=self.log)

    def enqueued(self) -> dict[str, Any]:
        """The default in the words of Optuna."""
        if not self.choices or self.default in self.choices:
            return {self.name: self.default}
        return {self.name: NUMBER, self._number: self.default}

    def describe(self) -> dict[str, Any]:
        """As plain data, without the default."""
        facts = {**asdict(self), "choices": list(self.choices)}
        return {name: value for name, value in facts.items() if name not in ("name", "default")}

    @property
    def _number(self) -> str:
        return f"{self.name} number" if self.choices else self.name


def search_space(
    loss: LossSettings, learning_rate: float, factors: tuple[float, float]
) -> tuple[Dimension, ...]:
    """The dimensions of a loss, which hold its settings as they are without a search.

    An option that is set to a list, or where a logarithmic range cannot hold its value, is kept.

    Args:
        learning_rate: without a search; ``factors`` of it are the ends of the range.
    """
    options = LOSSES[loss.name].options()
    dimensions = [_dimension(options[name], value) for name, value in loss.options.items()]
    low, high = (learning_rate * factor for factor in factors)
    dimensions.append(_range(LEARNING_RATE, learning_rate, (low, high), log=True))
    return tuple(each for each in dimensions if each is not None)


def split_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as ``LossSettings`` takes them: options, and the learning rate."""
    options = {name: value for name, value in settings.items() if name != LEARNING_RATE}
    return {"options": options, LEARNING_RATE: settings[LEARNING_RATE]}


def _dimension(option: Hyperparameter, value: Any) -> Dimension | None:
    """The dimension of an option that is set to ``value``; None where it is not searched."""
    if bool in option.types:
        return Dimension(option.name, value, (True, False))
    is_number = isinstance(value, Real)
    if not (is_number or value in option.choices) or not (option.search or option.choices):
        return None
    if len(option.search) > 2:
        return Dimension(option.name, value, tuple(sorted({*option.search, value})))
    if not option.search:
        return Dimension(option.name, value, option.choices)
    return _range(option.name, value, option.search, log=option.log, choices=option.choices)


def _range(
    name: str, value: Any, ends: Sequence[float], *, log: bool, choices: tuple[Any, ...] = ()
) -> Dimension | None:
    """A range, widened to hold a number that is set."""
    numbers = [float(end) for end in ends] + ([float(value)] if isinstance(value, Real) else [])
    if log and min(numbers) <= 0:
        return None
    return Dimension(name, value, choices, min(numbers), max(numbers), log)
