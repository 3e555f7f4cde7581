"""Overhead of the trainer over a bare PyTorch loop, on steps so small that little else counts.

Trains the same probe on batches of the same size for the same epochs, with validation, in turns, and
prints the ratio of the best times: ``python benchmarks/loop_overhead.py``.
"""

from pathlib import Path
from time import perf_counter

import numpy as np
import torch
import yaml

from losslab.evaluation import judge_epoch, threshold_grid
from losslab.losses import build_loss
from losslab.models.probe import Probe
from losslab.parameters import TrainingSettings
from losslab.training.batches import SplitDataset
from losslab.training.fit import fit
from losslab.training.network import ModelWithLoss

ROWS, EMBEDDING_DIM, LABELS, EPOCHS, BATCH, ROUNDS = 640, 384, 33, 30, 32, 3
GRID = threshold_grid(0.4, 0.6, 0.01)
CONF = Path(__file__).parents[1] / "conf/base/parameters_training.yml"
SETTINGS = TrainingSettings(
    **yaml.safe_load(CONF.read_text())["recipes"]["probe"]["training"]
    | {"epochs": EPOCHS, "patience": EPOCHS, "batch_size": BATCH}
)


def judge(targets: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    return judge_epoch(targets, scores, grid=GRID)


def make_model() -> Probe:
    return Probe(embedding_dim=EMBEDDING_DIM, num_labels=LABELS, hidden_dim=256, dropout=0.1)


def make_documents(rows: int) -> SplitDataset:
    random = np.random.default_rng(0)
    features = random.normal(size=(rows, EMBEDDING_DIM)).astype(np.float32)
    targets = (random.random((rows, LABELS)) < 0.1).astype(np.float32)
    return SplitDataset({"embeddings": features}, targets, np.arange(rows))


def make_network() -> ModelWithLoss:
    return ModelWithLoss(make_model(), build_loss("bce"), regularizers=SETTINGS.regularizers)


def time_fit(train: SplitDataset, validation: SplitDataset) -> float:
    start = perf_counter()
    fit(
        make_network,
        train,
        validation,
        settings=SETTINGS,
        compute_metrics=judge,
        name="bce",
        seed=1,
    )
    return perf_counter() - start


def time_bare_loop(train: SplitDataset, validation: SplitDataset) -> float:
    start = perf_counter()
    torch.manual_seed(1)
    model, loss = make_model(), build_loss("bce")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01, fused=True)
    everything = np.arange(len(validation))
    for _ in range(EPOCHS):
        model.train()
        for rows in torch.randperm(len(train)).split(BATCH):
            batch = train.batch(rows.numpy())
            value = loss(model(**batch["inputs"]), batch["targets"])
            optimizer.zero_grad()
            value.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        with torch.inference_mode():
            logits = model.eval()(**validation.inputs(everything))
        judge(validation.targets.dense(), logits.numpy())
    return perf_counter() - start


def main() -> None:
    torch.set_num_threads(1)
    train, validation = make_documents(ROWS), make_documents(140)
    time_fit(train, validation)  # imports and first-use costs
    times = [
        (time_fit(train, validation), time_bare_loop(train, validation)) for _ in range(ROUNDS)
    ]
    ours, bare = (min(column) for column in zip(*times, strict=True))
    steps = EPOCHS * (ROWS // BATCH)
    print(f"{steps} steps, {EPOCHS} validations: ours {ours:.2f} s, bare loop {bare:.2f} s")
    print(f"ratio {ours / bare:.2f}")


if __name__ == "__main__":
    main()
