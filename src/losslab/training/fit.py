"""Fitting a model with a loss: the same rule whatever the loss.

Validation after every epoch (or part of one), the best by one validation metric is kept, and
training ends when ``patience`` epochs in a row brought nothing better or ``epochs`` are over.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import pandas as pd
import torch
from torch import Tensor

from losslab.errors import NonFiniteLossError
from losslab.parameters.training import SelectBy, TrainingSettings
from losslab.training.batches import SplitDataset
from losslab.training.events import EpochEnded, TrainingStarted, publish
from losslab.training.loop import Judge, Loop
from losslab.training.network import ModelWithLoss
from losslab.training.non_finite import NonFinite
from losslab.training.processes import process_rank
from losslab.training.resources import cpu_threads

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fitted:
    """A trained model: its weights at the best epoch and a row of figures per evaluation."""

    weights: dict[str, Tensor]
    history: pd.DataFrame
    best_epoch: float


def fit(
    make_network: Callable[[], ModelWithLoss],
    train: SplitDataset,
    validation: SplitDataset,
    *,
    settings: TrainingSettings,
    judge: Judge,
    name: str,
    seed: int,
    select_by: SelectBy = "macro_f1",
    batchwise: bool = False,
    labels: Sequence[str] | None = None,
    folder: Path | None = None,
) -> Fitted:
    """Train one network; ``judge(targets, scores)`` gives the validation metrics of an epoch.

    ``batchwise``: the loss looks at a batch as a whole and gets larger ones. ``folder`` takes what
    is left of a training that fails.
    """
    if process_rank() == 0:
        publish(TrainingStarted(name, seed))
    size = batch_size(settings, len(train), whole=batchwise)
    logger.info("%s, seed %d: training starts, batches of %d", name, seed, size)
    torch.manual_seed(seed)
    network = make_network()
    torch.manual_seed(seed + process_rank())
    with cpu_threads(settings.threads):
        title = f"{name} seed {seed}"
        loop = Loop(network, train, settings=settings, batch_size=size, seed=seed, title=title)
        record = _Record(name, seed, settings, select_by, network)
        try:
            with loop.memory:
                _run(loop, record, validation, judge)
        except NonFinite as fault:
            raise _explain(fault, loop, record, labels, folder) from fault
        finally:
            loop.bar.close()
    logger.info("%s, seed %d: best epoch %g of %g", name, seed, record.best_epoch, record.epoch)
    return Fitted(record.weights, pd.DataFrame(record.history), record.best_epoch)


def batch_size(settings: TrainingSettings, documents: int, *, whole: bool) -> int:
    """The size of a batch: larger where the loss looks at it as a whole, never the whole corpus.

    >>> from types import SimpleNamespace
    >>> batch_size(SimpleNamespace(batch_size=32, min_batch_size_batchwise=256), 1000, whole=True)
    256
    """
    wanted = max(settings.batch_size, settings.min_batch_size_batchwise if whole else 1)
    if documents < wanted:
        logger.warning("only %d training documents, asked for batches of %d", documents, wanted)
    return min(wanted, documents)


def _run(loop: Loop, record: "_Record", validation: SplitDataset, judge: Judge) -> None:
    start = perf_counter()
    for epoch in range(loop.settings.epochs):
        parts = loop.parts()
        for part, batches in enumerate(parts, start=1):
            figures = loop.train_on(batches, epoch)
            figures["train_seconds"] = perf_counter() - start
            figures |= loop.evaluate(validation, judge)
            record.add(_number(epoch + part / len(parts)), figures)
            loop.bar.set_postfix(macro_f1=f"{figures['validation_macro_f1']:.3f}", refresh=False)
        if record.is_over():
            return


def _number(epoch: float) -> float:
    """Whole epochs as whole numbers."""
    return int(epoch) if epoch == int(epoch) else epoch


class _Record:
    """What a training has reached: its history, and the weights of its best epoch."""

    def __init__(
        self,
        name: str,
        seed: int,
        settings: TrainingSettings,
        select_by: SelectBy,
        network: ModelWithLoss,
    ) -> None:
        self.name, self.seed, self.settings, self.network = name, seed, settings, network
        self.select_by = select_by
        self.history: list[dict[str, float]] = []
        self.weights: dict[str, Tensor] = {}
        self.best, self.best_epoch, self.epoch = float("-inf"), 0.0, 0.0

    def add(self, epoch: float, figures: dict[str, float]) -> None:
        """Keep the figures of an evaluation, and the weights if it is the best."""
        self.epoch = epoch
        self.history.append({"epoch": epoch, **figures})
        reached = figures[f"validation_{self.select_by}"]
        if reached > self.best:
            self.best, self.best_epoch = reached, epoch
            state = self.network.state_dict()
            self.weights = {key: value.detach().cpu().clone() for key, value in state.items()}
        if process_rank() == 0:
            publish(EpochEnded(self.name, self.seed, epoch, len(self.history), figures))

    def is_over(self) -> bool:
        """Whether patience has run out."""
        return self.epoch - self.best_epoch >= self.settings.patience


def _explain(
    fault: NonFinite,
    loop: Loop,
    record: _Record,
    labels: Sequence[str] | None,
    folder: Path | None,
) -> NonFiniteLossError:
    """The error to show; what is needed to look into it is saved first."""
    training = loop.module.training
    place = f"step {loop.step + 1}" if training else f"validation after step {loop.step}"
    message = f"{record.name}, seed {record.seed}, {place}: {fault.describe(labels)}"
    if folder is not None:
        kept = folder / f"seed_{record.seed}"
        facts = {
            "loss": record.name,
            "seed": record.seed,
            "epoch": loop.epoch,
            "steps_done": loop.step,
            "fault": message,
        }
        fault.keep(kept, loop.network, facts)
        if record.weights:
            from safetensors.torch import save_file

            save_file(record.weights, kept / "best.safetensors")
        message += f"; the batch and the weights are kept in {kept}"
    return NonFiniteLossError(message)
