"""A node as a task: all that a worker, here or on another machine, needs to compute it."""

import logging
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from errno import EDQUOT, ENOSPC, EROFS
from functools import partialmethod
from logging.handlers import QueueHandler
from typing import TYPE_CHECKING, Any, Protocol

from kedro.io import DatasetError
from kedro.pipeline.node import Node

from losslab.errors import LosslabError, TrainingFailedError
from losslab.training.events import Event, listening

if TYPE_CHECKING:
    from losslab.training.checkpoint import Copies

DISK_ERRORS = (ENOSPC, EDQUOT, EROFS)
"""Errors that every further save would meet."""
SEED, NUM_SEEDS = "params:seed", "params:num_seeds"
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class NodeTask:
    """One node and its datasets, as they are pinned when the task is made.

    Attributes:
        datasets: what the node reads and writes, by name; outputs know their provenance.
        values: inputs that are no files: parameters.
        saves: whether outputs are saved. A seed of a training leaves its result with the
            checkpoints, for the task of all seeds.
        publishes: whether training events are sent; the task of all seeds would repeat them.
    """

    node: Node
    datasets: dict[str, Any]
    values: dict[str, Any] = field(default_factory=dict)
    saves: bool = True
    publishes: bool = True

    def run(self) -> None:
        """Load inputs, compute, save outputs."""
        inputs = {
            name: self.values[name] if name in self.values else self.datasets[name].load()
            for name in self.node.inputs
        }
        outputs = self.node.run(inputs)
        for name, data in outputs.items() if self.saves else ():
            self.datasets[name].save(data)

    def by_seed(self) -> list["NodeTask"]:
        """Of a training of several seeds a task each, to run side by side, then the one of all."""
        first, number = self.values.get(SEED), self.values.get(NUM_SEEDS, 1)
        if first is None or number < 2 or "checkpoints" not in self.node.inputs:
            return [self]
        seeds = [
            replace(self, values={**self.values, SEED: seed, NUM_SEEDS: 1}, saves=False)
            for seed in range(first, first + number)
        ]
        return [*seeds, replace(self, publishes=False)]


@dataclass(frozen=True)
class Outcome:
    """How a task ended; ``error`` is None if it was computed and saved."""

    error: Exception | None = None


Message = Event | logging.LogRecord | Outcome
"""What a worker tells the process that runs the pipeline."""
Send = Callable[[Any], None]


class Executor(Protocol):
    """Runs tasks elsewhere, ``slots`` at a time."""

    @property
    def slots(self) -> int:
        """How many; 0: none is run elsewhere."""

    def submit(self, key: int, task: NodeTask) -> None:
        """Begin a task; its messages bear the key."""

    def messages(self, timeout: float | None) -> Iterator[tuple[int, Message]]:
        """Wait for messages; none where the timeout comes first."""

    def copies(self, key: str) -> "Copies | None":
        """What keeps checkpoints of a configuration where all workers see them, if that is needed."""

    def close(self) -> None:
        """End all workers; trainings under way save a checkpoint first."""


def silence(send: Send, level: int) -> None:
    """Send log records to the parent, which alone speaks to the terminal."""
    from tqdm import tqdm

    tqdm.__init__ = partialmethod(tqdm.__init__, disable=True)
    logging.getLogger().handlers = [_RecordSender(send)]
    logging.getLogger().setLevel(logging.WARNING)
    logging.getLogger("losslab").setLevel(level)


class _RecordSender(QueueHandler):
    """Sends log records, ready to be pickled."""

    def __init__(self, send: Send) -> None:
        super().__init__(queue=None)  # type: ignore[arg-type]
        self._send = send

    def enqueue(self, record: logging.LogRecord) -> None:
        """Send a record."""
        self._send(record)


def run_task(task: NodeTask, send: Send) -> Outcome:
    """Run a task; its training events go to ``send``."""
    try:
        with listening(send) if task.publishes else nullcontext():
            task.run()
    except Exception as error:
        if not isinstance(error, LosslabError | DatasetError):
            logger.error("%s failed", task.node.name, exc_info=error)
        return Outcome(portable(error))
    return Outcome()


def portable(error: Exception) -> Exception:
    """``error`` as another process can receive it: without its causes, of a class that is known."""
    cause = disk_error(error)
    if cause is not None:
        return _DiskError(str(error), cause.errno or 0)
    if isinstance(error, LosslabError | MemoryError):
        return error
    return TrainingFailedError(_reason(error))


def _reason(error: Exception) -> str:
    known = isinstance(error, LosslabError | DatasetError)
    return str(error) if known else f"{type(error).__name__}: {error}"


def disk_error(error: BaseException | None) -> OSError | None:
    """The full or read-only disk behind an error, if there is one."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in DISK_ERRORS:
            return error
        error = error.__cause__ or error.__context__
    return None


class _DiskError(LosslabError, OSError):
    """A save that failed in a worker because of the disk."""

    def __init__(self, message: str, errno: int) -> None:
        super().__init__(message)
        self.errno = errno

    def __reduce__(self) -> Any:
        return type(self), (str(self), self.errno)
