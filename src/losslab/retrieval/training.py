"""Training of two-tower models by the trainer of all losses: the labels are a batch's candidates."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict
from torch import Tensor

from losslab.errors import ParameterError
from losslab.features.inputs import Arrays, Inputs, inputs_of, scoring_batches
from losslab.losses import build_loss
from losslab.models.two_tower import CANDIDATE, QUESTION, TwoTower, build_two_tower
from losslab.parameters import LossSettings, Recipe, TwoTowerSettings
from losslab.retrieval.metrics import MRR, rank_metrics
from losslab.retrieval.questions import QuestionRows
from losslab.retrieval.search import ranks_of, score_blocks
from losslab.training.batches import SplitDataset
from losslab.training.checkpoint import TrainingCheckpoints
from losslab.training.distributed import cpu_threads, local_device
from losslab.training.fit import Fitted, fit
from losslab.training.memory import explains_memory
from losslab.training.network import ModelWithLoss
from losslab.training.non_finite import NonFiniteBatch
from losslab.training.trainer import ComputeMetrics, Trainer

MODEL = "model."
"""Prefix of the model's weights, beside those of the loss."""
SoftTargets = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""From rows of training questions and candidates to soft targets, questions x candidates."""


class TowerJob(BaseModel):
    """What is trained and how; ``seed`` tells its repetitions apart."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    loss: LossSettings
    recipe: Recipe
    two_tower: TwoTowerSettings
    recall_at: tuple[int, ...]
    seed: int = 0


@dataclass(frozen=True)
class TowerData:
    """What a job is done with: features of all texts, the rows of two splits, names of all texts.

    ``soft_targets``: of the training questions, for losses that need them.
    """

    features: Arrays
    train: QuestionRows
    validation: QuestionRows
    ids: np.ndarray
    soft_targets: SoftTargets | None = None


class QuestionSplit(SplitDataset):
    """Questions of a split; a batch's labels are their positives and sampled negatives.

    Two questions with the same positive share its column: no positive is taken for a negative.
    Which negatives a batch gets follows from its questions and ``seed``: a batch can be made again.

    Args:
        negatives: candidates sampled for each batch, as many as there are.
    """

    def __init__(
        self,
        features: Arrays,
        rows: QuestionRows,
        ids: np.ndarray,
        *,
        negatives: int = 0,
        seed: int = 0,
        soft_targets: SoftTargets | None = None,
    ) -> None:
        self.rows, self.positives, self.ids = rows.questions, rows.positives, ids[rows.questions]
        self.questions = self._inputs = inputs_of(features, rows.questions)
        self.candidates = inputs_of(features, rows.candidates)
        self._negatives, self._seed, self._soft_targets = negatives, seed, soft_targets

    def batch(self, indices: np.ndarray) -> dict[str, Any]:
        """Inputs of questions and candidates, one-hot targets, and soft targets if there are any."""
        positives, columns = np.unique(self.positives[indices], return_inverse=True)
        candidates = np.concatenate([positives, self._sample(indices, positives)])
        targets = torch.zeros(len(indices), len(candidates))
        targets[torch.arange(len(indices)), torch.from_numpy(columns)] = 1
        context = {}
        if self._soft_targets is not None:
            soft = self._soft_targets(indices, candidates)
            context["soft_targets"] = torch.from_numpy(np.asarray(soft, dtype=np.float32))
        inputs = {f"{QUESTION}{k}": v for k, v in self.questions.batch(indices).items()}
        inputs |= {f"{CANDIDATE}{k}": v for k, v in self.candidates.batch(candidates).items()}
        return {"inputs": inputs, "targets": targets, "context": context}

    def _sample(self, indices: np.ndarray, positives: np.ndarray) -> np.ndarray:
        """Candidates that are no positive of the batch, ascending positives given."""
        others = len(self.candidates.lengths) - len(positives)
        random = np.random.default_rng([self._seed, *indices])
        drawn = random.choice(others, min(self._negatives, others), replace=False)
        shifts = np.searchsorted(positives - np.arange(len(positives)), drawn, side="right")
        sampled: np.ndarray = drawn + shifts
        return sampled


class TowerTrainer(Trainer):
    """The trainer, whose validation ranks all candidates of the split.

    ``compute_metrics`` gets the positives and their ranks; the loss is cross-entropy over all.
    """

    def evaluate(self, split: SplitDataset, compute_metrics: ComputeMetrics) -> dict[str, float]:
        """Validation loss and metrics, their names prefixed with ``validation_``."""
        assert isinstance(split, QuestionSplit)  # noqa: S101 - what train_towers gives
        self.module.eval()
        model: Any = self.network.model
        with self._autocast():
            questions = encode(model, split.questions, self.device)
            candidates = encode(model, split.candidates, self.device)
        ranks, total = np.empty(len(split), dtype=np.int64), 0.0
        for rows, scores in score_blocks(model.scale * questions, candidates):
            positives = torch.from_numpy(split.positives[rows]).to(scores.device)
            loss = torch.nn.functional.cross_entropy(scores, positives, reduction="sum").item()
            if not np.isfinite(loss):
                indices = np.arange(len(split))[rows]
                raise NonFiniteBatch(f"the loss is {loss}", split, indices, scores)
            total += loss
            ranks[rows] = ranks_of(scores, split.positives[rows])
        self.after_batch()
        metrics = {"loss": total / len(split), **compute_metrics(split.positives, ranks)}
        return {f"validation_{name}": value for name, value in metrics.items()}


@torch.inference_mode()
def encode(model: TwoTower, inputs: Inputs, device: torch.device) -> Tensor:
    """Embeddings of texts, texts x dim, on ``device``."""
    embedded = torch.empty(0)
    for indices in scoring_batches(inputs.lengths):
        batch = {name: tensor.to(device) for name, tensor in inputs.batch(indices).items()}
        part = model.encode(**batch)
        if not len(embedded):
            embedded = torch.empty(len(inputs.lengths), part.shape[1], device=device)
        embedded[torch.from_numpy(indices).to(device)] = part
    return embedded


@explains_memory
def train_towers(
    job: TowerJob,
    data: TowerData,
    failures: Path | None = None,
    checkpoints: TrainingCheckpoints | None = None,
) -> Fitted:
    """Train one seed of a job, the best epoch by validation MRR."""
    _check_recipe(job.recipe)
    train = QuestionSplit(
        data.features,
        data.train,
        data.ids,
        negatives=job.two_tower.negatives,
        seed=job.seed,
        soft_targets=data.soft_targets,
    )
    return fit(
        lambda: build_towers(job.loss, job.recipe, job.two_tower, data.features),
        train,
        QuestionSplit(data.features, data.validation, data.ids),
        settings=job.recipe.training,
        compute_metrics=lambda _, ranks: rank_metrics(ranks, job.recall_at),
        name=job.loss.name,
        seed=job.seed,
        select_by=MRR,
        failures=failures,
        checkpoints=checkpoints,
        trainer_class=TowerTrainer,
    )


def build_towers(
    loss: LossSettings, recipe: Recipe, two_tower: TwoTowerSettings, features: Arrays
) -> ModelWithLoss:
    """The two-tower model of the recipe and the loss over candidates, fresh."""
    return ModelWithLoss(
        build_two_tower(recipe.model, features, two_tower),
        build_loss(loss.name, task="single", **loss.options),
        regularizers=recipe.training.regularizers,
        threads=recipe.training.threads,
    )


def encode_texts(
    recipe: Recipe,
    two_tower: TwoTowerSettings,
    features: Arrays,
    weights: Arrays,
    *rows: np.ndarray,
) -> tuple[np.ndarray, ...]:
    """Embeddings of some rows of the texts by a trained model, an array for each of ``rows``."""
    model, device = build_two_tower(recipe.model, features, two_tower), local_device()
    own = {name: w for name, w in weights.items() if name.startswith(MODEL)}
    model.load_state_dict({name[len(MODEL) :]: torch.from_numpy(w) for name, w in own.items()})
    model.eval().to(device)
    with cpu_threads(recipe.training.threads):
        parts = [encode(model, inputs_of(features, part), device) for part in rows]
    return tuple(part.cpu().numpy() for part in parts)


def _check_recipe(recipe: Recipe) -> None:
    """What retrieval cannot train with yet."""
    name = f"recipes.{recipe.name}.training"
    if recipe.training.processes > 1:
        raise ParameterError(f"{name}.processes: retrieval trains in one process; set it to 1")
    regularizers = recipe.training.regularizers
    if regularizers.adversarial:
        raise ParameterError(
            f"{name}.regularizers.adversarial perturbs embeddings of single documents, which "
            "retrieval has not; set it to 0"
        )
    if regularizers.mulsupcon:
        raise ParameterError(
            f"{name}.regularizers.mulsupcon compares documents by their labels, and questions have "
            "none; set it to 0"
        )
