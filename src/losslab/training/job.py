"""A training as data: everything it depends on can be written down and carried elsewhere."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import torch
from pydantic import BaseModel, ConfigDict

from losslab.evaluation import judge_epoch, trivial_metrics
from losslab.evaluation.decision_rules import NATURAL_THRESHOLD
from losslab.features.inputs import Arrays
from losslab.losses import LOSSES, LabelStatistics, Loss, build_loss
from losslab.models.text_model import ThresholdModel, build_model
from losslab.parameters.evaluation import ValidationRule
from losslab.parameters.losses import LossSettings
from losslab.parameters.training import Recipe, SelectBy, augmentation_of
from losslab.supervision import group_indices
from losslab.training.batches import Column, SplitDataset
from losslab.training.checkpoint import Checkpoints, TrainingCheckpoints
from losslab.training.fit import Fitted, fit, load_finished
from losslab.training.memory import explains_memory
from losslab.training.network import ModelWithLoss, load_weights

Train = Callable[[Any, Any, Path | None, TrainingCheckpoints | None], Fitted]
"""Trains one seed of a job with its data; takes the folder of failures and the checkpoints."""


class TrainingJob(BaseModel):
    """What is trained, how, and how it is judged; ``seed`` tells its repetitions apart."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    loss: LossSettings
    recipe: Recipe
    frequencies: tuple[int, ...]
    documents: int
    mu: float | None
    frequency_groups: dict[str, tuple[int, ...]]
    task: str
    labels: tuple[str, ...] = ()
    grid: tuple[float, ...] | None = None
    select_by: SelectBy = "macro_f1"
    validation_rule: ValidationRule = "tuned"
    seed: int = 0


@dataclass(frozen=True)
class TrainingData:
    """What a job is done with: features and targets of the corpus, the rows of two splits.

    ``groups`` and ``context`` are what some losses need besides.
    """

    features: Arrays
    targets: Column
    train: np.ndarray
    validation: np.ndarray
    ids: np.ndarray
    groups: Any = None
    context: Mapping[str, Column] = field(default_factory=dict)


def describe_job(
    loss: LossSettings,
    recipe: Recipe,
    label_statistics: Mapping[str, Any],
    task: str,
    **judging: Any,
) -> TrainingJob:
    """The job of a loss; ``judging``: labels, and how epochs are judged (grid, rule, metric).

    A learning rate of the loss takes the place of the recipe's.
    """
    statistics = {name: label_statistics[name] for name in ("frequencies", "documents", "mu")}
    members = group_indices(label_statistics["groups"])
    groups = {name: tuple(indices) for name, indices in members.items()}
    return TrainingJob(
        loss=loss,
        recipe=with_learning_rate(recipe, loss.learning_rate),
        **statistics,
        frequency_groups=groups,
        task=task,
        **judging,
    )


def with_learning_rate(recipe: Recipe, rate: float | None) -> Recipe:
    """The recipe with another learning rate; None: as it is."""
    if rate is None:
        return recipe
    training = recipe.training.model_copy(update={"learning_rate": rate})
    return recipe.model_copy(update={"training": training})


def run_seeds(
    job: Any,
    data: Any,
    seeds: range,
    failures: Path | None = None,
    checkpoints: Checkpoints | None = None,
    train: Train | None = None,
) -> tuple[dict[str, np.ndarray], pd.DataFrame]:
    """Train once per seed: the weights of each best epoch by ``seed_<n>/<name>``, and all histories.

    With ``checkpoints``, finished seeds are not trained again and a killed one continues. ``train``:
    what trains a seed of a job of another kind, such as that of retrieval.
    """
    weights: dict[str, np.ndarray] = {}
    histories = []
    for seed in seeds:
        fitted = run_job(job.model_copy(update={"seed": seed}), data, failures, checkpoints, train)
        weights |= {f"seed_{seed}/{name}": w.numpy() for name, w in fitted.weights.items()}
        histories.append(fitted.full_history(seed))
    return weights, pd.concat(histories, ignore_index=True)


def seeds_of(model: Mapping[str, np.ndarray]) -> list[int]:
    """The seeds a model holds weights of."""
    return sorted({int(name.split("/")[0].removeprefix("seed_")) for name in model})


def weights_of(model: Mapping[str, np.ndarray], seed: int) -> dict[str, np.ndarray]:
    """The weights of one seed, by their own names."""
    prefix = f"seed_{seed}/"
    return {
        name.removeprefix(prefix): array for name, array in model.items() if name.startswith(prefix)
    }


def load_network(
    job: TrainingJob,
    model: Mapping[str, np.ndarray],
    seed: int,
    features: Arrays,
    groups: Any = None,
) -> ModelWithLoss:
    """The trained network of one seed."""
    return load_weights(build_network(job, features, groups), weights_of(model, seed))


def build_network(job: TrainingJob, features: Arrays, groups: Any = None) -> ModelWithLoss:
    """The recipe's model and the loss, fresh; a loss may ask for a threshold of each document."""
    loss = LOSSES[job.loss.name]
    labels = len(job.frequencies) + loss.threshold_logit
    model = build_model(job.recipe.model, features, num_labels=labels)
    return ModelWithLoss(
        ThresholdModel(model) if loss.threshold_logit else model,
        _build_loss(job, groups),
        needs_second_pass="second_logits" in loss.needs,
        regularizers=job.recipe.training.regularizers,
        threads=job.recipe.training.threads,
    )


def _build_loss(job: TrainingJob, groups: Any = None) -> Loss:
    statistics = LabelStatistics(job.frequencies, job.documents, job.mu)
    return build_loss(job.loss.name, statistics, groups=groups, task=job.task, **job.loss.options)


def posterior_draws(job: TrainingJob, model: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What a loss has sampled, by parameter: draws of all seeds x labels."""
    loss, draws = _build_loss(job), []
    for seed in seeds_of(model):
        weights = {n: w for n, w in weights_of(model, seed).items() if n.startswith("loss.")}
        state = {name.removeprefix("loss."): torch.from_numpy(w) for name, w in weights.items()}
        loss.load_state_dict(state)
        draws.append(loss.posterior())
    return {name: torch.cat([each[name] for each in draws]).numpy() for name in loss.sampled}


def run_job(
    job: Any,
    data: Any,
    failures: Path | None = None,
    checkpoints: Checkpoints | None = None,
    train: Train | None = None,
) -> Fitted:
    """Train as the job says, unless a finished result is among the checkpoints."""
    resumable = None if checkpoints is None else own_checkpoints(job, data, checkpoints)
    finished = resumable and load_finished(resumable, job.loss.name, job.seed)
    if finished:
        return finished
    return (train or train_job)(job, data, failures, resumable)


def train_job(
    job: TrainingJob,
    data: TrainingData,
    failures: Path | None,
    resumable: TrainingCheckpoints | None,
) -> Fitted:
    """Train in this process, or in as many as the recipe asks for."""
    if job.recipe.training.processes > 1:
        from losslab.training.launch import run_in_processes

        return run_in_processes(job, data, failures, resumable)
    return run_here(job, data, failures, resumable)


def own_checkpoints(job: Any, data: Any, checkpoints: Checkpoints) -> TrainingCheckpoints:
    """The checkpoints of one job with its data; those of other jobs or data are not used."""
    facts = {"job": job.model_dump(mode="json"), "data": joblib.hash(data, hash_name="sha1")}
    return checkpoints.of_training(f"{job.loss.name}/seed_{job.seed}", facts)


@explains_memory
def run_here(
    job: TrainingJob,
    data: TrainingData,
    failures: Path | None = None,
    checkpoints: TrainingCheckpoints | None = None,
) -> Fitted:
    """Train in this process, which may be one of several."""
    split = partial(SplitDataset, data.features, data.targets, ids=data.ids)
    groups = {name: np.array(part, dtype=int) for name, part in job.frequency_groups.items()}
    validation = split(data.validation)
    trivial = trivial_metrics(
        job.frequencies, validation.targets.matrix(), job.select_by, task=job.task
    )
    return fit(
        lambda: build_network(job, data.features, data.groups),
        split(data.train, context=data.context, augmentation=augmentation_of(job.recipe.model)),
        validation,
        settings=job.recipe.training,
        compute_metrics=partial(judge_epoch, **_decision(job), task=job.task, groups=groups),
        name=job.loss.name,
        seed=job.seed,
        select_by=job.select_by,
        trivial=trivial,
        batchwise=LOSSES[job.loss.name].batchwise,
        labels=job.labels,
        failures=failures,
        checkpoints=checkpoints,
    )


def _decision(job: TrainingJob) -> dict[str, Any]:
    """The threshold that epochs are judged by, or the candidates it is tuned among."""
    is_fixed = job.validation_rule == "own" and LOSSES[job.loss.name].decision == "probability"
    grid = None if job.grid is None else np.array(job.grid)
    return {"grid": grid, "threshold": NATURAL_THRESHOLD if is_fixed else None}
