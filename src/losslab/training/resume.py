"""Exact resume: a training goes on from its newest checkpoint as if it had never been stopped."""

import logging
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from losslab.training.checkpoint import Contents, TrainingCheckpoints, read_checkpoint
from losslab.training.distributed import (
    broadcast_from_rank0,
    gather_objects,
    get_rank,
    is_distributed,
)
from losslab.training.early_stopping import EarlyStopping
from losslab.training.events import EpochEnded, publish
from losslab.training.non_finite import copy_weights
from losslab.training.trainer import Trainer

logger = logging.getLogger(__name__)


@contextmanager
def resumable(
    trainer: Trainer, stopping: EarlyStopping, checkpoints: TrainingCheckpoints | None
) -> Iterator[Callable[[], None]]:
    """Continue from the newest checkpoint; yields what is to be called after each evaluation.

    SIGINT and SIGTERM save a checkpoint after the current batch and then end the run as they would
    have. Not with DDP: there they end the parent, and the parent kills the ranks.
    """
    if checkpoints is None:
        yield lambda: None
        return
    training = _Resumable(trainer, stopping, checkpoints)
    with StopSignals(enabled=not is_distributed()) as signals:
        trainer.after_batch = lambda: training.stop_if_asked(signals)
        training.restore()
        yield training.save_if_due


class StopSignals:
    """SIGINT and SIGTERM, held back until ``deliver``; a second one is delivered at once."""

    def __init__(self, *, enabled: bool = True) -> None:
        self.received: int | None = None
        self._enabled = enabled and threading.current_thread() is threading.main_thread()
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> "StopSignals":
        for number in (signal.SIGINT, signal.SIGTERM) if self._enabled else ():
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                self._handlers[number] = signal.signal(number, self._hold)
        return self

    def __exit__(self, *_: object) -> None:
        self.deliver()

    def deliver(self) -> None:
        """Give the signals back their handlers, then the signal, if there was one, to its own."""
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._handlers, received, self.received = {}, self.received, None
        if received is not None:
            signal.raise_signal(received)

    def _hold(self, number: int, _: Any) -> None:
        again, self.received = self.received is not None, number
        if again:
            self.deliver()


class _Resumable:
    """A training and its checkpoints."""

    def __init__(
        self, trainer: Trainer, stopping: EarlyStopping, checkpoints: TrainingCheckpoints
    ) -> None:
        self.trainer, self.stopping, self.checkpoints = trainer, stopping, checkpoints

    def restore(self) -> None:
        """Load the newest checkpoint, the same one on all ranks; publish its evaluations."""
        path = None
        if get_rank() == 0:
            self.checkpoints.begin()
            path = self.checkpoints.newest()
        path = broadcast_from_rank0(path)
        if path is not None:
            self._load(read_checkpoint(path))
            name, seed = self.stopping.name, self.stopping.seed
            logger.info("%s, seed %d: continues after step %d", name, seed, self.trainer.step)
            publish_history(name, seed, self.stopping.history)

    def save_if_due(self) -> None:
        """Save a checkpoint, if the last one is old enough; rank 0 decides and writes."""
        if broadcast_from_rank0(self.checkpoints.is_due()):
            self._save()

    def stop_if_asked(self, signals: StopSignals) -> None:
        """After a signal, save a checkpoint and end."""
        if signals.received is None:
            return
        name = signal.Signals(signals.received).name
        if self._save():
            step = self.trainer.step
            logger.info("%s: stops after step %d; the same command continues", name, step)
        signals.deliver()

    def _save(self) -> bool:
        random = gather_objects([get_random_state(self.trainer.device)])
        if get_rank() > 0:
            return True
        state, stopping = self.trainer.state_dict(), self.stopping.state_dict()
        contents = {
            "network.safetensors": copy_weights(self.trainer.network),
            "best.safetensors": stopping.pop("weights"),
            "progress.json": {"trainer": state.pop("progress"), "stopping": stopping},
            "optimizer.pt": {**state, "random": random},
        }
        return self.checkpoints.save(self.trainer.step, len(self.stopping.history), contents)

    def _load(self, contents: Contents) -> None:
        progress, state = contents["progress.json"], contents["optimizer.pt"]
        self.trainer.network.load_state_dict(contents["network.safetensors"])
        self.trainer.load_state_dict({**state, "progress": progress["trainer"]})
        best = contents["best.safetensors"]
        self.stopping.load_state_dict({**progress["stopping"], "weights": best})
        set_random_state(self.trainer.device, state["random"][get_rank()])


def publish_history(name: str, seed: int, history: list[dict[str, float]]) -> None:
    """Publish earlier evaluations again, so that curves are complete."""
    for evaluation, row in enumerate(history if get_rank() == 0 else (), start=1):
        metrics = {metric: value for metric, value in row.items() if metric != "epoch"}
        publish(EpochEnded(name, seed, row["epoch"], evaluation, metrics))


def get_random_state(device: torch.device) -> dict[str, Tensor]:
    """The states of PyTorch's generators: the CPU's, and the device's on CUDA."""
    state = {"cpu": torch.get_rng_state()}
    return state | ({"cuda": torch.cuda.get_rng_state(device)} if device.type == "cuda" else {})


def set_random_state(device: torch.device, state: dict[str, Tensor]) -> None:
    """Continue the streams of ``get_random_state``."""
    torch.set_rng_state(state["cpu"])
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"], device)
