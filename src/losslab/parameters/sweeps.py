"""sweeps.yml: parameters that are varied for a figure, and the jobs of a sweep."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from losslab.errors import ParameterError
from losslab.losses import LOSSES
from losslab.parameters.base import Settings
from losslab.parameters.losses import namespace
from losslab.parameters.suggestions import did_you_mean
from losslab.parameters.variants import flatten

EACH_LABEL = "each_label"
"""Values of a grid: a list with one label, for every label of the corpus."""
BASELINE = "baseline"
"""The job that trains the baseline at its defaults."""
POINT = "point"
"""The axis of labelled points."""
Kind = Literal["lines", "dots", "gain", "heatmap"]
AT_EACH_POINT = ("dots", "gain")
"""Kinds whose baseline is trained at every point; that of the others is trained once."""
LOSS, OF_RECIPE = "loss.", ("model.", "training.")
"""What a name may begin with: an option of every loss of the sweep; a part of the chosen recipe."""


class SweepPoint(Settings):
    """A point by its label, and the parameters it stands for."""

    label: str = Field(min_length=1)
    params: dict[str, Any] = Field({}, description="by dotted name")


class Sweep(Settings):
    """Losses x points: all combinations of the grid's values, at each of ``points`` if there are any.

    Names are dotted. ``loss.alpha`` is that option of every loss of the sweep, ``training`` and
    ``model`` are those of the chosen recipe.
    """

    name: str = Field("", description="its key")
    title: str
    paper: str = Field("-", description="the figure or table this is made for")
    losses: list[str] = Field(min_length=1, description="those that fit the dataset's task")
    baseline: list[str] = Field([], description="the first that fits the task")
    grid: dict[str, Any] = Field({}, description="by dotted name: a list of values, or each_label")
    points: list[SweepPoint] = Field([])
    metric: str | None = Field(None, description="null: select_by")
    kind: Kind = Field(
        "lines",
        description="lines, with the baseline dotted; dots by point, with their mean; gain over the "
        "baseline of the same point; heatmap of two parameters",
    )

    @field_validator("baseline", mode="before")
    @classmethod
    def _one_or_more(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value or []

    @field_validator("losses", "baseline")
    @classmethod
    def _are_losses(cls, names: list[str]) -> list[str]:
        for name in names:
            if name not in LOSSES:
                raise ValueError(did_you_mean("loss", name, LOSSES))
        return names

    @field_validator("grid", mode="before")
    @classmethod
    def _by_dotted_name(cls, grid: Any) -> Any:
        """``--params`` nests names: the values it gives come last."""
        return flatten(grid) if isinstance(grid, Mapping) else grid

    @field_validator("grid")
    @classmethod
    def _have_values(cls, grid: dict[str, Any]) -> dict[str, Any]:
        for name, values in grid.items():
            if values != EACH_LABEL and not isinstance(values, list):
                raise ValueError(f"{name} must be a list of values, got {values!r}")
            if not values:
                raise ValueError(f"{name} has no values")
        return grid

    @model_validator(mode="after")
    def _has_points(self) -> "Sweep":
        if not self.grid and not self.points:
            raise ValueError("has neither grid nor points")
        labels = [point.label for point in self.points]
        if len(set(labels)) < len(labels):
            raise ValueError(f"points: two have the same label, {labels}")
        return self

    @model_validator(mode="after")
    def _fits_its_kind(self) -> "Sweep":
        if self.kind == "gain" and not self.baseline:
            raise ValueError("kind gain needs a baseline")
        if self.kind == "heatmap" and (self.points or len(self.axes) != 2):
            raise ValueError("kind heatmap needs a grid of two parameters with several values each")
        return self

    @property
    def axes(self) -> list[str]:
        """What points differ in: ``point`` for labelled ones, and parameters of several values."""
        several = [name for name, values in self.grid.items() if len(values) > 1]
        return [POINT, *several] if self.points else several or [*self.grid][:1]

    @property
    def parameters(self) -> set[str]:
        """The dotted names of all parameters that are set."""
        return {*self.grid, *(name for point in self.points for name in point.params)}


@dataclass(frozen=True)
class SweepJob:
    """A run of the sweep: losses that are trained with the same parameters.

    Args:
        label: the point in words; ``baseline`` for the one at the defaults.
        coordinates: the value of each axis.
        params: the parameters that are set, nested.
    """

    label: str
    losses: tuple[str, ...]
    coordinates: dict[str, Any] = field(default_factory=dict)
    params: dict[str, Any] = field(default_factory=dict)


def losses_of(
    sweep: Sweep, task: str, chosen: Sequence[str] | None
) -> tuple[list[str], str | None]:
    """The losses of a sweep, and its baseline: ``chosen``, else those that fit the task."""
    losses = list(chosen or [name for name in sweep.losses if task in LOSSES[name].tasks])
    fitting = [name for name in sweep.baseline if task in LOSSES[name].tasks]
    if not losses:
        raise ParameterError(
            f"none of {', '.join(sweep.losses)} fits {task}-label data: choose others by --losses"
        )
    if sweep.kind == "heatmap" and len(losses) > 1:
        raise ParameterError("a heatmap is of one loss: choose it by --losses")
    if sweep.kind == "gain" and not fitting:
        raise ParameterError(f"no baseline of the sweep fits {task}-label data")
    return losses, fitting[0] if fitting else None


def expand_sweep(
    sweep: Sweep,
    *,
    recipe: str,
    losses: Sequence[str],
    baseline: str | None,
    labels: Sequence[str] = (),
) -> list[SweepJob]:
    """The jobs of a sweep, the baseline's first.

    Args:
        labels: the label space, which ``each_label`` stands for.
    """
    each_point = sweep.kind in AT_EACH_POINT
    trained = list(dict.fromkeys([baseline, *losses] if baseline and each_point else losses))
    once = [SweepJob(BASELINE, (baseline,))] if baseline and not each_point else []
    grid = {
        name: [[label] for label in labels] if values == EACH_LABEL else values
        for name, values in sweep.grid.items()
    }
    jobs = []
    for point in sweep.points or [SweepPoint(label=BASELINE, params={})]:
        for values in product(*grid.values()):
            setting = {**point.params, **dict(zip(grid, values, strict=True))}
            coordinates: dict[str, Any] = {POINT: point.label} if sweep.points else {}
            coordinates |= {name: setting[name] for name in sweep.axes if name != POINT}
            params = nest(_full_names(setting, recipe, losses))
            jobs.append(SweepJob(describe_point(coordinates), tuple(trained), coordinates, params))
    return once + jobs


def describe_point(coordinates: Mapping[str, Any]) -> str:
    """A point in words.

    >>> describe_point({"loss.alpha": 0.1, "undersample.labels": ["Sports"]})
    'alpha = 0.1, labels = Sports'
    """
    return ", ".join(
        show_value(value) if name == POINT else f"{short_name(name)} = {show_value(value)}"
        for name, value in coordinates.items()
    )


def short_name(parameter: str) -> str:
    """The last part of a dotted name."""
    return parameter.rpartition(".")[2]


def show_value(value: Any) -> str:
    """A value as a table shows it."""
    if isinstance(value, list):
        return " + ".join(map(show_value, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def nest(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted names as nested mappings.

    >>> nest({"split.seed": 3, "split.by": "hash", "seed": 1})
    {'split': {'seed': 3, 'by': 'hash'}, 'seed': 1}
    """
    tree: dict[str, Any] = {}
    for name, value in flat.items():
        *above, last = name.split(".")
        branch = tree
        for part in above:
            branch = branch.setdefault(part, {})
        branch[last] = value
    return tree


def _full_names(setting: Mapping[str, Any], recipe: str, losses: Iterable[str]) -> dict[str, Any]:
    """The parameters that short names stand for."""
    names: dict[str, Any] = {}
    for name, value in setting.items():
        if name.startswith(LOSS):
            option = name.removeprefix(LOSS)
            names |= {f"{namespace(loss)}.{option}": value for loss in losses}
        elif name.startswith(OF_RECIPE):
            names[f"recipes.{recipe}.{name}"] = value
        else:
            names[name] = value
    return names
