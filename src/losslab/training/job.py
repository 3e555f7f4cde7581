"""A training as data: everything it depends on can be written down and carried elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from losslab.evaluation import judge_epoch
from losslab.losses import LOSSES, LabelStatistics, build_loss
from losslab.models.build import build_model
from losslab.models.inputs import Arrays
from losslab.training.batches import Column, Documents
from losslab.training.fit import Fitted, fit
from losslab.training.network import ModelWithLoss
from losslab.training.recipes import Recipe, Recipes


class Job(BaseModel):
    """What is trained, how, and how it is judged; ``seed`` tells its repetitions apart."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    loss: str
    options: dict[str, Any]
    recipe: str
    recipes: Recipes
    frequencies: tuple[int, ...]
    documents: int
    mu: float | None
    labels: tuple[str, ...]
    frequency_groups: dict[str, tuple[int, ...]]
    task: str
    grid: tuple[float, ...] | None
    seed: int = 0

    @property
    def chosen(self) -> Recipe:
        """The recipe's settings."""
        settings: Recipe = getattr(self.recipes, self.recipe)
        return settings


@dataclass(frozen=True)
class Material:
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


def build_network(job: Job, features: Arrays, groups: Any = None) -> ModelWithLoss:
    """The recipe's model and the loss, fresh."""
    known = LabelStatistics(job.frequencies, job.documents, job.mu)
    return ModelWithLoss(
        build_model(job.chosen, features, labels=len(job.frequencies)),
        build_loss(job.loss, known, groups=groups, task=job.task, **job.options),
        needs_second_pass="second_logits" in LOSSES[job.loss].needs,
        regularisers=job.chosen.training.regularisers,
    )


def run_job(job: Job, material: Material, failures: Path | None = None) -> Fitted:
    """Train as the job says, in this process or in as many as its recipe asks for."""
    if job.chosen.training.processes > 1:
        from losslab.training.launch import run_in_processes

        return run_in_processes(job, material, failures)
    return run_here(job, material, failures)


def run_here(job: Job, material: Material, failures: Path | None = None) -> Fitted:
    """Train in this process, which may be one of several."""
    rows = {"targets": material.targets, "ids": material.ids}
    train = Documents(material.features, rows=material.train, context=material.context, **rows)
    validation = Documents(material.features, rows=material.validation, **rows)
    grid = None if job.grid is None else np.array(job.grid)
    groups = {name: np.array(part, dtype=int) for name, part in job.frequency_groups.items()}
    return fit(
        lambda: build_network(job, material.features, material.groups),
        train,
        validation,
        budget=job.chosen.training,
        judge=partial(judge_epoch, grid=grid, task=job.task, groups=groups),
        name=job.loss,
        seed=job.seed,
        batchwise=LOSSES[job.loss].batchwise,
        labels=job.labels,
        folder=failures,
    )
