"""Fitting a model with a loss: the same budget and early stopping whatever the loss.

Validation after every epoch (or part of one); the weights of the best by one validation metric are
kept; training stops after ``patience`` epochs without improvement, or after ``epochs``.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import pandas as pd
import torch
from safetensors.torch import save_file
from torch import Tensor

from losslab.errors import NonFiniteLossError
from losslab.parameters.training import SelectBy, TrainingSettings
from losslab.training.batches import SplitDataset
from losslab.training.distributed import cpu_threads, get_rank
from losslab.training.events import EpochEnded, TrainingStarted, publish
from losslab.training.network import ModelWithLoss
from losslab.training.non_finite import NonFiniteBatch, copy_weights
from losslab.training.trainer import ComputeMetrics, Trainer

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fitted:
    """A trained model: the weights of its best epoch, and a row of metrics per evaluation."""

    weights: dict[str, Tensor]
    history: pd.DataFrame
    best_epoch: float


def fit(
    make_network: Callable[[], ModelWithLoss],
    train: SplitDataset,
    validation: SplitDataset,
    *,
    settings: TrainingSettings,
    compute_metrics: ComputeMetrics,
    name: str,
    seed: int,
    select_by: SelectBy = "macro_f1",
    batchwise: bool = False,
    labels: Sequence[str] | None = None,
    failures: Path | None = None,
) -> Fitted:
    """Train one network with early stopping on ``select_by``, a metric of ``compute_metrics``.

    ``batchwise``: the loss is not a mean over documents and gets larger batches. ``failures``: the
    folder for the batch and weights of a training that fails.
    """
    if get_rank() == 0:
        publish(TrainingStarted(name, seed))
    size = choose_batch_size(settings, len(train), batchwise=batchwise)
    logger.info("%s, seed %d: training starts, batches of %d", name, seed, size)
    torch.manual_seed(seed)
    network = make_network()
    torch.manual_seed(seed + get_rank())
    with cpu_threads(settings.threads):
        title = f"{name} seed {seed}"
        trainer = Trainer(
            network, train, settings=settings, batch_size=size, seed=seed, title=title
        )
        stopping = EarlyStopping(name, seed, network, select_by, settings.patience)
        try:
            _train_epochs(trainer, stopping, validation, compute_metrics)
        except NonFiniteBatch as fault:
            raise _explain(fault, trainer, stopping, labels, failures) from fault
        finally:
            trainer.bar.close()
    logger.info("%s, seed %d: best epoch %g of %g", name, seed, stopping.best_epoch, stopping.epoch)
    return Fitted(stopping.weights, pd.DataFrame(stopping.history), stopping.best_epoch)


def choose_batch_size(settings: TrainingSettings, documents: int, *, batchwise: bool) -> int:
    """The batch size: larger for batchwise losses, at most the number of documents.

    >>> from types import SimpleNamespace
    >>> settings = SimpleNamespace(batch_size=32, min_batch_size_batchwise=256)
    >>> choose_batch_size(settings, 1000, batchwise=True)
    256
    """
    size = max(settings.batch_size, settings.min_batch_size_batchwise if batchwise else 1)
    if documents < size:
        logger.warning("only %d training documents for batches of %d", documents, size)
    return min(size, documents)


class EarlyStopping:
    """The history of a training, the weights of its best epoch, and when to stop."""

    def __init__(
        self, name: str, seed: int, network: ModelWithLoss, select_by: SelectBy, patience: int
    ) -> None:
        self.name, self.seed, self.network = name, seed, network
        self.select_by, self.patience = select_by, patience
        self.history: list[dict[str, float]] = []
        self.weights: dict[str, Tensor] = {}
        self.best, self.best_epoch, self.epoch = float("-inf"), 0.0, 0.0

    def update(self, epoch: float, metrics: dict[str, float]) -> None:
        """Record an evaluation; copy the weights if it is the best."""
        self.epoch = epoch
        self.history.append({"epoch": epoch, **metrics})
        value = metrics[f"validation_{self.select_by}"]
        if value > self.best:
            self.best, self.best_epoch = value, epoch
            self.weights = copy_weights(self.network)
        if get_rank() == 0:
            publish(EpochEnded(self.name, self.seed, epoch, len(self.history), metrics))

    def should_stop(self) -> bool:
        """Whether ``patience`` epochs brought no improvement."""
        return self.epoch - self.best_epoch >= self.patience


def _train_epochs(
    trainer: Trainer,
    stopping: EarlyStopping,
    validation: SplitDataset,
    compute_metrics: ComputeMetrics,
) -> None:
    start = perf_counter()
    for epoch in range(trainer.settings.epochs):
        parts = trainer.epoch_parts()
        for part, batches in enumerate(parts, start=1):
            metrics = trainer.train_on(batches, epoch)
            metrics["train_seconds"] = perf_counter() - start
            metrics |= trainer.evaluate(validation, compute_metrics)
            stopping.update(_as_int_if_whole(epoch + part / len(parts)), metrics)
            trainer.bar.set_postfix({stopping.select_by: f"{stopping.best:.3f}"}, refresh=False)
        if stopping.should_stop():
            return


def _as_int_if_whole(epoch: float) -> float:
    return int(epoch) if epoch == int(epoch) else epoch


def _explain(
    fault: NonFiniteBatch,
    trainer: Trainer,
    stopping: EarlyStopping,
    labels: Sequence[str] | None,
    failures: Path | None,
) -> NonFiniteLossError:
    """The error to show; batch, weights and best weights are saved first."""
    training = trainer.module.training
    position = f"step {trainer.step + 1}" if training else f"validation after step {trainer.step}"
    message = f"{stopping.name}, seed {stopping.seed}, {position}: {fault.describe(labels)}"
    if failures is not None:
        folder = failures / f"seed_{stopping.seed}"
        facts = {
            "loss": stopping.name,
            "seed": stopping.seed,
            "epoch": trainer.epoch,
            "steps_done": trainer.step,
            "fault": message,
        }
        fault.save(folder, trainer.network, facts)
        if stopping.weights:
            save_file(stopping.weights, folder / "best.safetensors")
        message += f"; the batch and the weights are kept in {folder}"
    return NonFiniteLossError(message)
