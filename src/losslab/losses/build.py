"""From a name and options to a loss module."""

from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

from losslab.losses.spec import LabelStatistics, LossSpec
from losslab.losses.table import LOSSES

if TYPE_CHECKING:
    from losslab.losses.base import Loss


def build_loss(
    name: str, statistics: LabelStatistics | None = None, *, groups: Any = None, **options: Any
) -> "Loss":
    """Build the loss called ``name``; options left out take the defaults of its ``LossSpec``.

    ``groups`` (an id per label, or labels x groups) is for ``mask_label``.

    >>> build_loss("focl")
    Traceback (most recent call last):
    ...
    ValueError: unknown loss 'focl'; did you mean 'focal'?
    >>> build_loss("focal", gamma=-1)
    Traceback (most recent call last):
    ...
    ValueError: focal: gamma must be >= 0, got -1
    """
    if name not in LOSSES:
        raise ValueError(f"unknown loss {name!r}; {_suggest(name, LOSSES)}")
    spec = LOSSES[name]
    chosen = _choose_options(spec, options)
    if "statistics" in spec.needs and statistics is None:
        raise ValueError(f"{name} needs the label statistics: build_loss({name!r}, statistics)")
    inputs = {"statistics": statistics, **chosen}
    if "groups" in spec.needs:
        if groups is None:
            raise ValueError(f"{name} needs label groups: build_loss({name!r}, ..., groups=...)")
        inputs["groups"] = groups
    module, _, implementation = spec.implementation.partition(":")
    build = getattr(import_module(f"losslab.losses.{module}"), implementation)
    try:
        loss: Loss = build(**inputs)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    loss.name, loss.soft = name, spec.accepts_soft_targets
    return loss


def _choose_options(spec: LossSpec, options: dict[str, Any]) -> dict[str, Any]:
    for option, value in options.items():
        if option not in spec.options:
            raise ValueError(
                f"{spec.name} has no option {option!r}; {_suggest(option, spec.options)}"
            )
        try:
            spec.options[option].check(option, value)
        except ValueError as error:
            raise ValueError(f"{spec.name}: {error}") from None
    return {**spec.defaults(), **options}


def _suggest(word: str, known: Any) -> str:
    close = get_close_matches(word, known, n=1)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known) or 'none'}"
