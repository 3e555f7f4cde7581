"""Fitting a model with a loss: the same budget and early stopping whatever the loss.

Validation after every epoch (or part of one); the weights of the best by one validation metric are
kept. ``EarlyStopping`` has the rule that chooses it and ends the training; ``max_epochs`` the budget.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from safetensors.torch import save_file
from torch import Tensor

from losslab.errors import NonFiniteLossError
from losslab.evaluation import describe_training, training_facts
from losslab.parameters.training import TrainingSettings
from losslab.training.batches import SplitDataset
from losslab.training.checkpoint import TrainingCheckpoints
from losslab.training.distributed import cpu_threads, get_rank
from losslab.training.early_stopping import EarlyStopping
from losslab.training.events import TrainingEnded, TrainingStarted, publish
from losslab.training.network import ModelWithLoss
from losslab.training.non_finite import NonFiniteBatch
from losslab.training.resume import publish_history, resumable
from losslab.training.trainer import ComputeMetrics, Position, Trainer

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fitted:
    """A trained model: the weights of its best epoch, and a row of metrics per evaluation.

    ``trivial``: metrics of the best trivial predictions. ``ended_by``: patience or budget.
    """

    weights: dict[str, Tensor]
    history: pd.DataFrame
    best_epoch: float
    select_by: str
    trivial: Mapping[str, float]
    ended_by: str

    def full_history(self, seed: int) -> pd.DataFrame:
        """The history with what its training was selected by and why it ended, for all seeds."""
        return self.history.assign(
            seed=seed,
            best=self.best_epoch,
            select_by=self.select_by,
            ended_by=self.ended_by,
            **{f"trivial_{name}": value for name, value in self.trivial.items()},
        )


def fit(
    make_network: Callable[[], ModelWithLoss],
    train: SplitDataset,
    validation: SplitDataset,
    *,
    settings: TrainingSettings,
    compute_metrics: ComputeMetrics,
    name: str,
    seed: int,
    select_by: str = "macro_f1",
    trivial: Mapping[str, float] | None = None,
    batchwise: bool = False,
    labels: Sequence[str] | None = None,
    failures: Path | None = None,
    checkpoints: TrainingCheckpoints | None = None,
    trainer_class: type[Trainer] = Trainer,
) -> Fitted:
    """Train one network with early stopping on ``select_by``, a metric of ``compute_metrics``.

    Args:
        trivial: metrics of the best trivial predictions, see ``trivial_metrics``.
        batchwise: the loss is not a mean over documents and gets larger batches.
        failures: the folder for the batch and weights of a training that fails.
        checkpoints: where the training continues from, and keeps its result.
        trainer_class: retrieval has one of its own, which validates in another way.
    """
    if get_rank() == 0:
        publish(TrainingStarted(name, seed))
    size = choose_batch_size(settings, len(train), batchwise=batchwise)
    logger.debug("%s, seed %d: training starts, batches of %d", name, seed, size)
    torch.manual_seed(seed)
    network = make_network()
    torch.manual_seed(seed + get_rank())
    with cpu_threads(settings.threads):
        title = f"{name} seed {seed}"
        trainer = trainer_class(
            network, train, settings=settings, batch_size=size, seed=seed, title=title
        )
        stopping = EarlyStopping(
            name,
            seed,
            network,
            select_by,
            settings.patience,
            patience_steps=settings.patience_steps,
            trivial=trivial,
        )
        with closing(trainer.bar), resumable(trainer, stopping, checkpoints) as evaluated:
            try:
                _train_epochs(trainer, stopping, validation, compute_metrics, evaluated)
            except NonFiniteBatch as fault:
                raise _explain(fault, trainer, stopping, labels, failures) from fault
            fitted = _fitted(stopping)
            if checkpoints is not None and get_rank() == 0:
                save_finished(checkpoints, fitted)
    _announce(name, seed, training_facts(fitted.full_history(seed)))
    return fitted


def _fitted(stopping: EarlyStopping) -> Fitted:
    return Fitted(
        stopping.weights,
        pd.DataFrame(stopping.history),
        stopping.best_epoch,
        stopping.select_by,
        stopping.trivial,
        stopping.ended_by,
    )


def save_finished(checkpoints: TrainingCheckpoints, fitted: Fitted) -> None:
    """Keep the result of a training until the results of all seeds are saved."""
    result = {**vars(fitted), "history": fitted.history.to_dict("list")}
    checkpoints.finish({"weights.safetensors": result.pop("weights"), "result.json": result})


def load_finished(checkpoints: TrainingCheckpoints, name: str, seed: int) -> Fitted | None:
    """The result of a training that was finished earlier; its events are published again."""
    contents = checkpoints.finished()
    if contents is None:
        return None
    result = contents["result.json"]
    history = pd.DataFrame(result.pop("history"))
    logger.debug("%s, seed %d: was finished, is not trained again", name, seed)
    publish(TrainingStarted(name, seed))
    publish_history(name, seed, history.to_dict("records"))
    fitted = Fitted(contents["weights.safetensors"], history, **result)
    publish(TrainingEnded(name, seed, training_facts(fitted.full_history(seed))))
    return fitted


def _announce(name: str, seed: int, facts: dict[str, Any]) -> None:
    """Log and publish how a training ended."""
    logger.debug("%s, seed %d: %s", name, seed, describe_training(facts))
    if facts["mark"]:
        logger.warning("%s, seed %d: %s", name, seed, facts["mark"])
    if get_rank() == 0:
        publish(TrainingEnded(name, seed, facts))


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


def _train_epochs(
    trainer: Trainer,
    stopping: EarlyStopping,
    validation: SplitDataset,
    compute_metrics: ComputeMetrics,
    evaluated: Callable[[], None],
) -> None:
    """Train from the trainer's position to the end; ``evaluated`` is called after evaluations."""
    while (epoch := trainer.position.epoch) < trainer.epochs:
        parts = trainer.epoch_parts()
        for part in range(trainer.position.part, len(parts)):
            metrics = trainer.train_on(parts[part], trainer.position)
            metrics["train_seconds"] = trainer.seconds()
            metrics |= trainer.evaluate(validation, compute_metrics)
            trainer.position = Position(epoch, part + 1)
            stopping.update(_as_int_if_whole(epoch + (part + 1) / len(parts)), metrics)
            trainer.bar.set_postfix({stopping.select_by: f"{stopping.best:.3f}"}, refresh=False)
            evaluated()
        if stopping.should_stop():
            return
        trainer.position = Position(epoch + 1)


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
            "epoch": trainer.position.epoch,
            "steps_done": trainer.step,
            "fault": message,
        }
        fault.save(folder, trainer.network, facts)
        if stopping.weights:
            save_file(stopping.weights, folder / "best.safetensors")
        message += f"; the batch and the weights are kept in {folder}"
    return NonFiniteLossError(message)
