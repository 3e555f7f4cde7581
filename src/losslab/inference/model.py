"""A trained model as plain data: all that new texts need, and what it was made of."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from losslab import __version__
from losslab.baselines import BASELINES, METHODS
from losslab.data.fingerprint import digest, hash_arrays
from losslab.errors import ModelError
from losslab.parameters import LossSettings, Recipe
from losslab.parameters.base import Settings
from losslab.parameters.losses import Task

FORMAT = 1
"""Of a model folder; another one is refused."""
FITTED_WITH = ("labels", "vocabulary", "weights")
"""What thresholds belong to: they are refused beside others."""


class ModelFacts(Settings):
    """What a model is: ``config.json`` of its folder.

    ``recipe`` is None for a baseline; ``words``: how ``explain`` finds words.
    """

    format: int
    losslab: str
    method: LossSettings
    title: str
    decision: Literal["probability", "score"]
    task: Task
    seed: int
    recipe: Recipe | None
    frequencies: tuple[int, ...]
    documents: int
    mu: float | None
    words: dict[str, Any]


@dataclass(frozen=True)
class TrainedModel:
    """One seed of a loss, or a baseline.

    Attributes:
        weights: arrays by name.
        vocabulary: JSON of the tokenizer, of a hybrid also TF-IDF's, of a baseline TF-IDF's alone.
        rules: ``primary``, ``rules`` (decisions by name) and ``fitted_with``.
        record: dataset, metrics, corpus and provenance: what the model card is written from.
    """

    facts: ModelFacts
    weights: Mapping[str, np.ndarray]
    vocabulary: Mapping[str, Any]
    labels: tuple[str, ...]
    rules: Mapping[str, Any]
    record: Mapping[str, Any]

    @property
    def is_baseline(self) -> bool:
        """Whether a baseline, which needs no network, made it."""
        return self.facts.method.name in BASELINES


def assemble_model(
    method: LossSettings,
    arrays: Mapping[str, np.ndarray],
    vocabulary: Mapping[str, Any],
    label_space: list[str],
    decision_rules: Mapping[str, Any],
    metrics: Mapping[str, Any],
    *,
    label_statistics: Mapping[str, Any],
    corpus: Mapping[str, Any],
    task: str,
    recipe: Recipe | None,
    words: Mapping[str, Any],
    seed: int | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> TrainedModel:
    """The model of one seed, with every decision rule that was fitted to its scores.

    Args:
        arrays: of all seeds, by ``seed_<n>/<name>``; those of a baseline by their own names.
        metrics: of the test split, see ``evaluate_loss``.
        corpus: ``summary``, and ``splits``, the rows of its table.
        seed: None: the best on validation.
    """
    chosen = best_seed(metrics) if seed is None else seed
    if str(chosen) not in decision_rules["seeds"]:
        known = ", ".join(decision_rules["seeds"])
        raise ModelError(f"{method.name} has no seed {chosen}: it was trained with {known}")
    is_baseline = method.name in BASELINES
    weights = dict(arrays) if is_baseline else _weights_of(arrays, chosen)
    facts = _describe(
        method,
        label_statistics,
        task=task,
        seed=chosen,
        recipe=None if is_baseline else recipe,
        words=dict(words),
    )
    rules = {
        "primary": decision_rules["primary"],
        "rules": decision_rules["seeds"][str(chosen)],
        "fitted_with": fingerprint_parts(label_space, vocabulary, weights),
    }
    record = {
        "metrics": dict(metrics),
        "corpus": dict(corpus),
        "provenance": dict(provenance or {}),
    }
    return TrainedModel(facts, weights, vocabulary, tuple(label_space), rules, record)


def _describe(
    method: LossSettings, label_statistics: Mapping[str, Any], **known: Any
) -> ModelFacts:
    """The facts of a model: what is ``known`` of it, and what its method and labels say."""
    return ModelFacts(
        format=FORMAT,
        losslab=__version__,
        method=method,
        title=METHODS[method.name].title,
        decision=METHODS[method.name].decision,
        **{name: label_statistics[name] for name in ("frequencies", "documents", "mu")},
        **known,
    )


def best_seed(metrics: Mapping[str, Any]) -> int:
    """The seed of best validation metric, that of its best epoch; the first of several.

    >>> seeds = {"1": {"select_by": "f1", "validation": {"f1": 0.4}},
    ...          "2": {"select_by": "f1", "validation": {"f1": 0.5}}}
    >>> best_seed({"training": {"seeds": seeds}})
    2
    """
    seeds = metrics["training"]["seeds"]
    return int(max(seeds, key=lambda name: _validation(seeds[name])))


def _validation(facts: Mapping[str, Any]) -> float:
    return float(facts["validation"].get(facts["select_by"], 0.0))


def _weights_of(arrays: Mapping[str, np.ndarray], seed: int) -> dict[str, np.ndarray]:
    prefix = f"seed_{seed}/"
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def fingerprint_parts(
    labels: Iterable[str], vocabulary: Mapping[str, Any], weights: Mapping[str, np.ndarray]
) -> dict[str, str]:
    """Hashes of what decision rules belong to, and the version of losslab that fitted them."""
    return {
        "labels": digest(labels),
        "vocabulary": digest([json.dumps(vocabulary, sort_keys=True)]),
        "weights": hash_arrays(weights),
        "losslab": __version__,
    }


def refuse_other_parts(model: TrainedModel, place: str) -> None:
    """Raise ModelError where thresholds were fitted with other parts, or by an incompatible version."""
    fitted = model.rules["fitted_with"]
    found = fingerprint_parts(model.labels, model.vocabulary, model.weights)
    for part in FITTED_WITH:
        if fitted.get(part) != found[part]:
            raise ModelError(
                f"{place}: its thresholds were fitted with other {part} "
                f"({fitted.get(part)}) than those beside them ({found[part]}): "
                "export the model again"
            )
    if _compatible(str(fitted.get("losslab"))) != _compatible(__version__):
        raise ModelError(
            f"{place}: its thresholds were fitted by losslab {fitted.get('losslab')}, this is "
            f"{__version__}: export the model again, or install that version"
        )


def _compatible(version: str) -> str:
    """What versions must agree in: the first two numbers.

    >>> _compatible("0.1.3")
    '0.1'
    """
    return ".".join(version.split(".")[:2])
