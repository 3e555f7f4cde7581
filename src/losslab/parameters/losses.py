"""The parameters of each loss; names, defaults and bounds stand in the loss's class."""

from functools import cache
from numbers import Real
from typing import Annotated, Any, Literal

from pydantic import Field, create_model
from pydantic.functional_validators import AfterValidator

from losslab.losses import LOSSES, Hyperparameter
from losslab.parameters.base import Settings

Task = Literal["multi", "single"]


class LossSettings(Settings):
    """A loss by name, with every option set."""

    name: str
    options: dict[str, Any] = Field(default_factory=dict)


def namespace(loss: str) -> str:
    """The name of a loss's pipeline, namespace, tag and parameters.

    >>> namespace("db")
    'db_loss'
    """
    return f"{loss}_loss"


def losses_for_task(task: str) -> list[str]:
    """The losses that fit a task, ``multi`` or ``single``, in the order of ``LOSSES``."""
    return [name for name, loss in LOSSES.items() if task in loss.tasks]


@cache
def loss_model(name: str) -> type[Settings]:
    """The parameter model of a loss."""
    fields: dict[str, Any] = {
        option: (_annotation(rule), rule.default) for option, rule in LOSSES[name].options().items()
    }
    return create_model(f"{name}_loss", __base__=Settings, **fields)


def _annotation(option: Hyperparameter) -> Any:
    """The option's own check instead of pydantic's, so that both ways in tell the same."""

    def check(value: Any) -> Any:
        option.check(value)
        return float(value) if isinstance(value, Real) and not isinstance(value, bool) else value

    return Annotated[Any, AfterValidator(check)]
