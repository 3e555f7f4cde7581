"""A training of a second: a linear probe on a separable problem."""

import numpy as np
import torch

from losslab.evaluation import judge_epoch, threshold_grid
from losslab.features.inputs import Embeddings
from losslab.losses import LabelStatistics, build_loss
from losslab.losses.base import Loss
from losslab.models.probe import Probe
from losslab.parameters import RegularizerSettings, TrainingSettings
from losslab.training.batches import SplitDataset
from losslab.training.fit import fit
from losslab.training.network import ModelWithLoss, load_weights, predict_scores
from losslab.training.trainer import (
    Trainer,
)

NONE = RegularizerSettings(
    rdrop=0, adversarial=0, adversarial_epsilon=0.1, mulsupcon=0, mulsupcon_temperature=0.1
)


SETTINGS = TrainingSettings(
    epochs=40,
    min_steps=0,
    patience=8,
    patience_steps=0,
    evaluations_per_epoch=1,
    batch_size=16,
    min_batch_size_batchwise=64,
    learning_rate=0.02,
    weight_decay=0.0,
    max_grad_norm=1.0,
    warmup=0.0,
    schedule="constant_with_warmup",
    soft_targets_from_step=0,
    precision="auto",
    compile=False,
    gradient_checkpointing=False,
    processes=1,
    threads=1,
    regularizers=NONE,
)


STATISTICS = LabelStatistics(frequencies=[50, 50, 50], documents=100, mu=0.4)


def separable(rows: int, seed: int, **context) -> SplitDataset:
    """Labels that are signs of single features."""
    features = np.random.default_rng(seed).normal(size=(rows, 4)).astype(np.float32)
    targets = (features[:, :3] > 0).astype(np.float32)
    return SplitDataset({"embeddings": features}, targets, np.arange(rows), context=context)


def judge(targets, logits):
    return judge_epoch(targets, logits, grid=threshold_grid(0.4, 0.6, 0.01))


def network(loss, dropout=0.0, regularizers=NONE, **options):
    return ModelWithLoss(
        Probe(embedding_dim=4, num_labels=3, hidden_dim=0, dropout=dropout),
        loss,
        regularizers=regularizers,
        **options,
    )


def train(
    loss="bce", seed=1, make_network=None, documents=None, changed=None, metrics=judge, **options
):
    return fit(
        make_network or (lambda: network(build_loss(loss, STATISTICS))),
        documents or separable(100, seed=0),
        separable(60, seed=1),
        settings=SETTINGS.model_copy(update=changed or {}),
        compute_metrics=metrics,
        name=loss,
        seed=seed,
        **options,
    )


def trainer_of(module, **changed):
    settings = SETTINGS.model_copy(update=changed)
    return Trainer(
        module, separable(100, seed=0), settings=settings, batch_size=16, seed=0, title=""
    )


def scores_of(module, weights, features):
    arrays = {name: weight.numpy() for name, weight in weights.items()}
    inputs = Embeddings(np.asarray(features, dtype=np.float32), np.arange(len(features)))
    return predict_scores(load_weights(module, arrays), inputs)


class Scaled(Loss):
    """BCE with a scale that is learned with the model."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(()))

    def forward(self, logits, targets, context=None):
        return torch.nn.functional.binary_cross_entropy_with_logits(self.scale * logits, targets)


class Remembers(Loss):
    """Keeps what the trainer hands it."""

    def forward(self, logits, targets, context=None):
        for name, value in {
            "seen": dict(context or {}),
            "rows": len(logits),
            "truths": targets,
            "types": logits.dtype,
        }.items():
            setattr(self, name, [*getattr(self, name, []), value])
        return logits.square().mean()
