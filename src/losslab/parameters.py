"""Every parameter the project knows: names, types, bounds.

The values of shared parameters stand in ``conf/``; those of a loss in its class, which
``conf/`` and ``--params`` may override. A name that is not here is a mistake and is told as one.
"""

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from functools import cache
from numbers import Real
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    create_model,
    field_validator,
    model_validator,
)
from pydantic.functional_validators import AfterValidator

from losslab.corpora import READERS, reader_options
from losslab.corpora.rules import SplitRule, UnbalanceRule
from losslab.losses import LOSSES, Hyperparameter
from losslab.targets.options import (
    ElementOptions,
    KeywordOptions,
    LabelGroupOptions,
    SoftLabelOptions,
)
from losslab.training.recipes import Recipes


class Frozen(BaseModel):
    """A parameter object: read only, no unknown names."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class GroupOptions(Frozen):
    """Cut-offs of the frequency groups; both null: thirds of the labels."""

    head_min: int | None = Field(ge=1)
    tail_max: int | None = Field(ge=0)

    @model_validator(mode="after")
    def _both_or_none(self) -> "GroupOptions":
        if (self.head_min is None) != (self.tail_max is None):
            raise ValueError("head_min and tail_max must both be set or both be null")
        if (
            self.head_min is not None
            and self.tail_max is not None
            and self.head_min <= self.tail_max
        ):
            raise ValueError(
                f"head_min must be above tail_max, got {self.head_min} and {self.tail_max}"
            )
        return self


class ThresholdOptions(Frozen):
    """The grid of the one threshold that is tuned on validation."""

    lowest: float = Field(ge=0, le=1)
    highest: float = Field(ge=0, le=1)
    step: float = Field(gt=0, le=1)

    @model_validator(mode="after")
    def _in_order(self) -> "ThresholdOptions":
        if self.lowest > self.highest:
            raise ValueError(
                f"lowest must not be above highest, got {self.lowest} and {self.highest}"
            )
        return self


class ReportOptions(Frozen):
    """How losses are compared: against which, how sure, and what becomes of unlike results."""

    reference: str
    resamples: int = Field(ge=100, strict=True)
    confidence: float = Field(gt=0, lt=1)
    seed: int = Field(ge=0, strict=True)
    mixtures: Literal["refuse", "mark"]

    @field_validator("reference")
    @classmethod
    def _has_a_pipeline(cls, name: str) -> str:
        if name not in TRAINABLE:
            raise ValueError(unknown("loss", name, TRAINABLE))
        return name


class LossOptions(Frozen):
    """The hyper-parameters of a loss; the subclass of each loss is built from its class."""


TRAINABLE = list(LOSSES)
"""The losses that have a pipeline: all of them."""


TASKS = ("multi", "single")


def fitting(task: str) -> list[str]:
    """The losses with a pipeline that fit a task, ``multi`` or ``single``."""
    return [name for name in TRAINABLE if task in LOSSES[name].tasks]


def namespace(loss: str) -> str:
    """The name of a loss's pipeline, namespace, tag and parameters.

    >>> namespace("db")
    'db_loss'
    """
    return f"{loss}_loss"


@cache
def loss_options(name: str) -> type[LossOptions]:
    """The parameter model of a loss."""
    fields: dict[str, Any] = {
        option: (_annotation(rule), rule.default) for option, rule in LOSSES[name].options().items()
    }
    return create_model(f"{LOSSES[name].__name__}Options", __base__=LossOptions, **fields)


def _annotation(option: Hyperparameter) -> Any:
    """The option's own check instead of pydantic's, so that both ways in tell the same."""

    def check(value: Any) -> Any:
        option.check(value)
        return float(value) if isinstance(value, Real) and not isinstance(value, bool) else value

    return Annotated[Any, AfterValidator(check)]


def _check_folder_name(name: str) -> str:
    if not re.fullmatch(r"\w[\w.-]*", name):
        raise ValueError(f"must do as a folder's name: letters, digits, _ . -, got {name!r}")
    return name


@cache
def parameter_model(reader: str, named: bool = False) -> type[Frozen]:
    """The model of all parameters, one field per top-level name.

    ``corpus`` holds the options of ``reader``. Where that is ``named``, the dataset may have any
    name; otherwise the dataset's name is that of its reader.
    """
    losses: dict[str, Any] = {namespace(name): (loss_options(name), ...) for name in TRAINABLE}
    known = Literal[tuple(READERS)]
    return create_model(
        "Parameters",
        __base__=Frozen,
        dataset=(Annotated[str, AfterValidator(_check_folder_name)] if named else known, ...),
        reader=(known | None, ...),
        task=(Literal[TASKS], ...),
        corpus=(reader_options(reader) if reader in READERS else dict[str, Any], ...),
        max_rejected=(Annotated[float, Field(ge=0, le=1)], ...),
        min_label_frequency=(Annotated[int, Field(ge=1, strict=True)], ...),
        recipe=(Literal[tuple(Recipes.model_fields)], ...),
        seed=(Annotated[int, Field(ge=0, strict=True)], ...),
        seeds=(Annotated[int, Field(ge=1, strict=True)], ...),
        split=(SplitRule, ...),
        unbalance=(UnbalanceRule | None, ...),
        frequency_groups=(GroupOptions, ...),
        keywords=(KeywordOptions, ...),
        soft_labels=(SoftLabelOptions, ...),
        label_groups=(LabelGroupOptions, ...),
        element_keywords=(ElementOptions, ...),
        threshold=(ThresholdOptions, ...),
        report=(ReportOptions, ...),
        recipes=(Recipes, ...),
        **losses,
    )


def complete(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Check all parameters and add the defaults of every loss.

    Raises:
        ParameterError: with each fault, the parameter's name and the choices.
    """
    filled = {**{namespace(name): {} for name in TRAINABLE}, **parameters}
    named = parameters.get("reader")
    model = parameter_model(str(named or parameters.get("dataset")), named is not None)
    try:
        return model.model_validate(filled).model_dump()
    except ValidationError as error:
        told = "; ".join(_explain(fault, model) for fault in error.errors())
        raise ParameterError(told) from None


class ParameterError(ValueError):
    """Parameters that are unknown or out of range."""


def unknown(kind: str, name: str, known: Collection[str]) -> str:
    """What to tell someone who used a name that nothing bears.

    >>> unknown("recipe", "prob", ["probe"])
    "unknown recipe 'prob'; did you mean 'probe'? choose from probe"
    """
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean '{close[0]}'? " if close else ""
    return f"unknown {kind} '{name}'; {hint}choose from {', '.join(sorted(known))}"


def _explain(fault: Any, model: Any) -> str:
    path = [str(part) for part in fault["loc"]]
    name = ".".join(path)
    if fault["type"] == "extra_forbidden":
        prefix = "".join(f"{part}." for part in path[:-1])
        for part in path[:-1]:
            model = _model_in(model.model_fields[part].annotation)
        return unknown("parameter", name, [f"{prefix}{known}" for known in model.model_fields])
    if fault["type"] == "literal_error":
        choices = fault["ctx"]["expected"].replace("'", "").replace(" or ", ", ").split(", ")
        return unknown(name, str(fault["input"]), choices)
    if fault["type"] == "missing":
        return f"parameter '{name}' is not set"
    if fault["type"] == "value_error":
        return f"parameter '{name}': {fault['ctx']['error']}"
    return f"parameter '{name}': {fault['msg']}, got {fault['input']!r}"


def _model_in(annotation: Any) -> Any:
    """The parameter model of a field that may also be null."""
    return next(
        kind for kind in (annotation, *get_args(annotation)) if hasattr(kind, "model_fields")
    )
