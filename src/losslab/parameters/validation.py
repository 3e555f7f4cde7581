"""Every parameter of the project in one model, and errors that name what is wrong."""

import logging
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, get_args

from pydantic import BaseModel, Field, ValidationError, create_model, model_validator

from losslab.baselines import BASELINES, METHODS
from losslab.data.corpus import Modality
from losslab.data.readers import QUESTION_READERS, READERS, modality_of, reader_options
from losslab.errors import ParameterError
from losslab.losses import LOSSES
from losslab.parameters.base import MAX_COUNT, MAX_SEED, Seed, Settings
from losslab.parameters.data import CardinalityLimits, SplitSettings, UndersampleSettings
from losslab.parameters.distillation import ElementKeywordSettings
from losslab.parameters.evaluation import Rule, ThresholdGrid
from losslab.parameters.features import TfidfSettings
from losslab.parameters.losses import LEARNING_RATE, Task, fits_task, namespace, option_model
from losslab.parameters.predict import MlflowSettings, PredictSettings
from losslab.parameters.reporting import BootstrapSettings, ReportSettings
from losslab.parameters.retrieval import QuestionSplitSettings, RetrievalSettings
from losslab.parameters.search import SearchSettings
from losslab.parameters.suggestions import did_you_mean
from losslab.parameters.supervision import (
    FrequencyGroupSettings,
    KeywordSettings,
    LabelGroupSettings,
    SoftLabelSettings,
)
from losslab.parameters.sweeps import Sweep
from losslab.parameters.training import RecipeEntry, SelectBy, frozen_encoder

logger = logging.getLogger(__name__)
MAX_SEEDS = 1000
TASK_DATA = {
    "multi": "multi-label data",
    "single": "single-label data",
    "retrieval": "retrieval",
}
"""What a loss is said not to fit."""


class Parameters(Settings):
    """Every parameter but the options of the reader, losses and baselines."""

    dataset: str
    losses: list[str] | None
    baselines: list[str] | None
    reader: str | None
    task: Task
    max_rejected: float = Field(ge=0, le=1)
    min_label_frequency: int = Field(ge=1, le=MAX_COUNT, strict=True)
    cardinality_limits: CardinalityLimits
    split: SplitSettings
    undersample: UndersampleSettings | None
    tfidf: TfidfSettings
    frequency_groups: FrequencyGroupSettings
    keywords: KeywordSettings
    soft_labels: SoftLabelSettings
    label_groups: LabelGroupSettings
    element_keywords: ElementKeywordSettings
    recipe: str
    recipes: dict[str, RecipeEntry]
    select_by: SelectBy
    seed: Seed
    num_seeds: int = Field(ge=1, le=MAX_SEEDS, strict=True)
    threshold_grid: ThresholdGrid | None
    primary_rule: Rule
    evaluated_rules: list[Rule]
    report: ReportSettings
    search: SearchSettings
    question_split: QuestionSplitSettings
    retrieval: RetrievalSettings
    predict: PredictSettings
    mlflow: MlflowSettings
    sweep: str | None
    sweeps: dict[str, Sweep]

    @model_validator(mode="after")
    def _seeds_fit(self) -> "Parameters":
        if self.seed + self.num_seeds - 1 > MAX_SEED:
            raise ValueError(f"seed + num_seeds - 1 must be at most {MAX_SEED}, got {self.seed}")
        return self

    @model_validator(mode="after")
    def _task_fits(self) -> "Parameters":
        reader = self.reader or self.dataset
        has_questions = reader in QUESTION_READERS
        if has_questions != (self.task == "retrieval"):
            kind = "questions and candidate answers" if has_questions else "documents with labels"
            tasks = "retrieval" if has_questions else "multi or single"
            raise ValueError(f"task: {reader} has {kind}, its task is {tasks}, not {self.task}")
        return self

    @model_validator(mode="after")
    def _losses_fit(self) -> "Parameters":
        for name in self.losses or ():
            if name not in LOSSES:
                raise ValueError(did_you_mean("loss", name, LOSSES))
            if not fits_task(name, self.task):
                raise ValueError(f"losses: {name} does not fit {TASK_DATA[self.task]}")
        return self

    @model_validator(mode="after")
    def _baselines_fit(self) -> "Parameters":
        for name in self.baselines or ():
            if name not in BASELINES:
                raise ValueError(did_you_mean("baseline", name, BASELINES))
            if not fits_task(name, self.task):
                raise ValueError(f"baselines: {name} does not fit {TASK_DATA[self.task]}")
        return self

    @model_validator(mode="after")
    def _predicting_loss_fits(self) -> "Parameters":
        name = self.predict.loss
        if name is not None and name not in METHODS:
            raise ValueError(did_you_mean("predict.loss", name, METHODS))
        if name is not None and not fits_task(name, self.task):
            raise ValueError(f"predict.loss: {name} does not fit {TASK_DATA[self.task]}")
        return self


@cache
def parameter_model(reader: str) -> type[Parameters]:
    """``Parameters`` with the options of ``reader`` under ``corpus``, and those of every method."""
    methods: dict[str, Any] = {namespace(name): (option_model(name), ...) for name in METHODS}
    return create_model(
        "Parameters", __base__=Parameters, corpus=(reader_options(reader), ...), **methods
    )


def validate_parameters(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Check all parameters, add defaults of losses and baselines, resolve the recipe.

    The result is what nodes receive: ``recipe`` is a ``Recipe``, ``<loss>_loss`` and
    ``<baseline>_baseline`` are ``LossSettings``.

    Raises:
        ParameterError: with each fault, the parameter's name and the choices.
    """
    reader = str(parameters.get("reader") or parameters.get("dataset"))
    if reader not in READERS:
        raise ParameterError(did_you_mean("reader", reader, READERS))
    model = parameter_model(reader)
    recipes = complete_recipes(parameters)
    filled = {**{namespace(name): {} for name in METHODS}, **parameters, "recipes": recipes}
    checked = _checked(filled, model)
    for name, recipe in checked.recipes.items():
        if recipe.overrides:  # of those that are not chosen, too
            _checked(merge_mappings(filled, recipe.overrides), model, f"recipes.{name}.overrides: ")
    return _resolve(checked)


def _checked(values: Mapping[str, Any], model: type[Parameters], prefix: str = "") -> Parameters:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        faults = "; ".join(_explain(fault, model) for fault in error.errors())
        raise ParameterError(f"{prefix}{faults}") from None


def complete_recipes(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Recipes by name; what one does not set is that of the recipe it ``extends``.

    What a model's ``tfidf`` does not set is that of the parameter ``tfidf``.
    """
    recipes = parameters.get("recipes") or {}
    for name in recipes:
        if not re.fullmatch(r"\w+", str(name)):  # it is the name of a folder
            raise ParameterError(f"recipe {name!r}: a name has letters, digits and underscores")
    extended = {name: {**_extended(name, recipes), "name": name} for name in recipes}
    shared = {"model": {"tfidf": parameters.get("tfidf")}}
    return {
        name: merge_mappings(shared, recipe) if _has_tfidf(recipe) else recipe
        for name, recipe in extended.items()
    }


def _has_tfidf(recipe: Mapping[str, Any]) -> bool:
    return isinstance(recipe.get("model"), Mapping) and "tfidf" in recipe["model"]


def recipe_overrides(recipes: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The parameters outside it that a recipe overrides, its own and those of what it extends."""
    overrides = complete_recipes({"recipes": recipes}).get(name, {}).get("overrides")
    return dict(overrides) if isinstance(overrides, Mapping) else {}  # others are refused later


def _extended(name: str, recipes: Mapping[str, Any], children: tuple[str, ...] = ()) -> Any:
    """A recipe with what its parent, and that one's, sets."""
    entry = dict(recipes[name])
    parent = entry.pop("extends", None)
    if parent is None:
        return entry
    chain = (*children, name)
    if parent not in recipes:
        raise ParameterError(did_you_mean(f"recipes.{name}.extends", str(parent), recipes))
    if parent in chain:
        raise ParameterError(f"recipes.{name}.extends: {' extends '.join([*chain, parent])}")
    return merge_mappings(_extended(parent, recipes, chain), entry)


def merge_mappings(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with ``changes``, mapping by mapping."""
    merged = dict(base)
    for key, value in changes.items():
        inner = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = merge_mappings(merged[key], value) if inner else value
    return merged


def _resolve(checked: Parameters) -> dict[str, Any]:
    """Plain data, as Kedro hands it to nodes."""
    values = checked.model_dump()
    recipes = values.pop("recipes")
    if checked.recipe not in recipes:
        raise ParameterError(did_you_mean("recipe", checked.recipe, recipes))
    values["modality"] = _resolve_modality(checked)
    values["recipe"] = {**recipes[checked.recipe]}
    del values["recipe"]["overrides"]  # they were merged before
    values["validation_rule"] = "own" if checked.primary_rule == "own" else "tuned"
    values["sweep"] = _resolve_sweep(checked.sweep, values.pop("sweeps"))
    values["features"] = {"model": values["recipe"]["model"]}
    encoder = frozen_encoder(checked.recipes[checked.recipe].model)
    values["frozen_encoder"] = encoder and encoder.model_dump()
    values["bootstrap"] = {name: values["report"][name] for name in BootstrapSettings.model_fields}
    if checked.losses and checked.report.reference not in checked.losses:
        values["report"]["reference"] = checked.losses[0]
        logger.info("report.reference: %s, the first of the losses", checked.losses[0])
    values["predict"]["loss"] = checked.predict.loss or values["report"]["reference"]
    for name in METHODS:
        options = values[namespace(name)]
        rate = {LEARNING_RATE: options.pop(LEARNING_RATE, None)} if name in LOSSES else {}
        values[namespace(name)] = {"name": name, "options": options, **rate}
    return values


def _resolve_modality(checked: Parameters) -> Modality:
    """What documents are; raise ParameterError at a recipe, loss or baseline that does not read it."""
    modality = modality_of(getattr(checked, "corpus"))  # noqa: B009 - of the reader's model
    fitting = [n for n, recipe in checked.recipes.items() if recipe.model.modality == modality]
    if checked.recipe not in fitting:
        raise ParameterError(
            f"recipe '{checked.recipe}' does not read {modality}s, which the documents of "
            f"'{checked.dataset}' are: --recipe={' or --recipe='.join(fitting)}"
        )
    if modality == "image":
        _refuse_words(checked)
    return modality


def _refuse_words(checked: Parameters) -> None:
    """Raise ParameterError at methods that read words."""
    reading = [name for name in LOSSES if LOSSES[name].reads_words]
    asked = [name for name in checked.losses or () if name in reading]
    if asked or checked.baselines:
        names = ", ".join([*asked, *(checked.baselines or ())])
        raise ParameterError(
            f"{names}: learns from words, and the documents of '{checked.dataset}' are images"
        )
    if checked.soft_labels.soft_zlpr == "keywords":
        raise ParameterError("soft_labels.soft_zlpr: images have no keywords, set it to classic")


def _resolve_sweep(name: str | None, sweeps: dict[str, Any]) -> dict[str, Any] | None:
    """The chosen sweep; the others are nobody's parameters."""
    if name is None:
        return None
    if name not in sweeps:
        raise ParameterError(did_you_mean("sweep", name, sweeps))
    return {**sweeps[name], "name": name}


def _explain(fault: Any, model: type[BaseModel]) -> str:
    path = [str(part) for part in fault["loc"]]
    shown = [*path[:3], *path[4:]] if path[:1] + path[2:3] == ["recipes", "model"] else path
    name = ".".join(shown)  # without the tag of the union
    if fault["type"] == "extra_forbidden":
        prefix = "".join(f"{part}." for part in shown[:-1])
        fields = [f"{prefix}{field}" for field in _fields(model, path[:-1])]
        if shown[0] == "recipes" and len(shown) == 3:
            fields = [*fields, f"{prefix}extends"]
        return did_you_mean("parameter", name, fields)
    if fault["type"] in ("literal_error", "union_tag_invalid"):
        context = fault["ctx"]
        expected = str(context.get("expected") or context["expected_tags"])
        choices = expected.replace("'", "").replace(" or ", ", ").split(", ")
        value = context.get("tag", fault["input"])
        return did_you_mean(f"{name}.kind" if "tag" in context else name, str(value), choices)
    if fault["type"] == "union_tag_not_found":
        return f"parameter '{name}.kind' is not set: set it, or have the recipe extend another"
    if fault["type"] == "missing":
        return f"parameter '{name}' is not set"
    if fault["type"] == "value_error":
        return (
            f"parameter '{name}': {fault['ctx']['error']}" if name else str(fault["ctx"]["error"])
        )
    return f"parameter '{name}': {fault['msg']}, got {fault['input']!r}"


def _fields(model: Any, path: list[str]) -> list[str]:
    """The names a parameter below ``path`` may have."""
    candidates = [model]
    for part in path:
        inner = [
            field_model
            for candidate in candidates
            if part in candidate.model_fields
            for field_model in _models(candidate.model_fields[part].annotation)
        ]
        tagged = [candidate for candidate in candidates if _has_kind(candidate, part)]
        candidates = inner or tagged or candidates  # a recipe's name leads nowhere
    return sorted({field for candidate in candidates for field in candidate.model_fields})


def _has_kind(model: Any, tag: str) -> bool:
    """Whether ``tag`` is what discriminates ``model`` in a union."""
    field = model.model_fields.get("kind")
    return field is not None and tag in get_args(field.annotation)


def _models(annotation: Any) -> list[Any]:
    """The parameter models an annotation holds, however deep."""
    if hasattr(annotation, "model_fields"):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]
