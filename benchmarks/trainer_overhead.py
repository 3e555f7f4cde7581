"""What Hugging Face's Trainer costs over a bare loop, on steps so small that little else counts.

Trains the same probe on the same batches for the same epochs, validation after each, taking turns,
and prints the ratio of the best times: ``python benchmarks/trainer_overhead.py``.
"""

from time import perf_counter

import numpy as np
import torch

from losslab.evaluation import judge_epoch, threshold_grid
from losslab.losses import build_loss
from losslab.models.probe import Probe
from losslab.training.budget import Budget, Regularisers
from losslab.training.fit import fit
from losslab.training.network import ModelWithLoss
from losslab.training.trainer import RowBatches

ROWS, WIDTH, LABELS, EPOCHS, BATCH, ROUNDS = 640, 384, 33, 30, 32, 3
GRID = threshold_grid(0.4, 0.6, 0.01)
NONE = Regularisers(rdrop=0, adversarial=0, radius=0.1)


def judge(targets: np.ndarray, logits: np.ndarray) -> dict[str, float]:
    return judge_epoch(targets, logits, grid=GRID)


def make_model() -> Probe:
    return Probe(width=WIDTH, labels=LABELS, hidden=256, dropout=0.1)


def make_rows(rows: int) -> RowBatches:
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(rows, WIDTH, generator=generator)
    return RowBatches(
        (torch.rand(rows, LABELS, generator=generator) < 0.1).float(), features=features
    )


def time_trainer(train: RowBatches, validation: RowBatches) -> float:
    budget = Budget(
        epochs=EPOCHS,
        patience=EPOCHS,
        select_by="macro_f1",
        batch_size=BATCH,
        learning_rate=1e-3,
        weight_decay=0.01,
        max_grad_norm=1.0,
        warmup_steps=0,
        schedule="constant_with_warmup",
        threads=1,
        regularisers=NONE,
    )
    make_network = lambda: ModelWithLoss(make_model(), build_loss("bce"), regularisers=NONE)  # noqa: E731
    start = perf_counter()
    fit(make_network, train, validation, budget=budget, judge=judge, name="bce", seed=1)
    return perf_counter() - start


def time_bare_loop(train: RowBatches, validation: RowBatches) -> float:
    start = perf_counter()
    torch.manual_seed(1)
    model, loss = make_model(), build_loss("bce")
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    for _ in range(EPOCHS):
        model.train()
        for rows in torch.randperm(len(train)).split(BATCH):
            batch = train.__getitems__(rows)
            value = loss(model(batch["features"]), batch["targets"])
            optimizer.zero_grad()
            value.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        with torch.inference_mode():
            logits = model.eval()(validation.columns["features"])
        judge(validation.columns["targets"].numpy(), logits.numpy())
    return perf_counter() - start


def main() -> None:
    torch.set_num_threads(1)
    train, validation = make_rows(ROWS), make_rows(140)
    time_trainer(train, validation)  # imports and first-use costs
    times = [
        (time_trainer(train, validation), time_bare_loop(train, validation)) for _ in range(ROUNDS)
    ]
    trainer, bare = (min(column) for column in zip(*times, strict=True))
    steps = EPOCHS * -(-ROWS // BATCH)
    print(f"{steps} steps, {EPOCHS} validations: Trainer {trainer:.2f} s, bare loop {bare:.2f} s")
    print(f"ratio {trainer / bare:.2f}")


if __name__ == "__main__":
    main()
