"""A training of sixty documents that show their labels: by words, or images by colours."""

import numpy as np
from scipy import sparse

from losslab.evaluation import threshold_grid
from losslab.features.compute import compute_features, learn_tokenizer
from losslab.losses import LOSSES
from losslab.parameters import CNNSettings, ImageProbeSettings, ModelSettings, Recipe
from losslab.parameters.losses import LossSettings
from losslab.supervision import describe_labels
from losslab.training.job import TrainingData, TrainingJob, describe_job

WORDS = ["lock", "memory", "open"]
SHORT = {
    "epochs": 2,
    "batch_size": 8,
    "min_batch_size_batchwise": 16,
    "learning_rate": 0.01,
    "threads": 1,
}


def make_job(recipe: Recipe, task: str, loss: str) -> tuple[TrainingJob, TrainingData]:
    """Sixty documents that show their labels."""
    random = np.random.default_rng(0)
    truth = random.random((60, 3)) < 0.5
    if task == "single":
        truth = np.eye(3, dtype=bool)[random.integers(0, 3, 60)]
    features = _features(recipe.model, truth)
    targets = sparse.csr_array(truth.astype(np.int8))
    soft = np.full((60, 3), 1 / 3, dtype=np.float32)
    data = TrainingData(
        features,
        targets,
        np.arange(40),
        np.arange(40, 60),
        ids=np.arange(60).astype(str),
        groups=[0, 0, 1],
        context={"mask": targets, "soft_targets": soft},
    )
    probability = LOSSES[loss].decision == "probability"
    job = describe_job(
        LossSettings(name=loss, options=LOSSES[loss].defaults()),
        recipe,
        describe_labels(targets[:40]) | {"groups": ["head", "tail", "tail"]},
        task,
        labels=tuple(WORDS),
        grid=tuple(threshold_grid(0.4, 0.6, 0.01)) if probability else None,
        seed=1,
    )
    return job, data


def _features(model: ModelSettings, truth: np.ndarray) -> dict[str, np.ndarray]:
    if isinstance(model, ImageProbeSettings):
        return {"embeddings": truth.astype(np.float32)}
    if isinstance(model, CNNSettings):
        noise = np.random.default_rng(1).integers(0, 100, (len(truth), 16, 12, 3))
        return {"pixels": (150 * truth[:, None, None, :] + noise).astype(np.uint8)}
    texts = [" ".join(np.array(WORDS)[row]) or "a" for row in truth]
    return compute_features(model, texts, learn_tokenizer(model, texts[:40]))
