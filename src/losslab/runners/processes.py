"""Worker processes on this machine: trainings side by side, one per core or GPU."""

import logging
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from threading import Lock, Thread

from losslab.errors import TrainingFailedError
from losslab.parameters import TrainingSettings
from losslab.runners.tasks import Message, NodeTask, Outcome, run_task, silence

RETRIES = 2
"""How often a task is begun again whose worker died."""
GRACE_PERIOD = 20.0
"""Seconds that workers get to save their checkpoints."""
logger = logging.getLogger(__name__)


@dataclass(eq=False)
class _Worker:
    """A process, and the task it has."""

    number: int
    process: SpawnProcess
    connection: Connection
    key: int = -1
    task: NodeTask | None = None
    tries: int = 0


class ProcessExecutor:
    """``slots`` processes, started when they are needed.

    Args:
        slots: tasks at a time.
        threads: CPU threads of each.
        gpus: GPUs of each; 0 where there are none.
    """

    def __init__(self, slots: int, *, threads: int = 1, gpus: int = 0) -> None:
        self._slots = slots
        self._threads, self._gpus = threads, gpus
        self._workers: list[_Worker] = []

    @property
    def slots(self) -> int:
        """Tasks at a time."""
        return self._slots

    def start(self) -> None:
        """Start all workers now: they import torch while the parent is at work."""
        while len(self._workers) < self.slots:
            self._workers.append(self._start(len(self._workers)))

    def submit(self, key: int, task: NodeTask) -> None:
        """Begin a task in an idle worker."""
        self.start()
        worker = next(each for each in self._workers if each.task is None)
        worker.key, worker.task, worker.tries = key, task, 0
        self._begin(worker, task)

    def messages(self, timeout: float | None = None) -> Iterator[tuple[int, Message]]:
        """Wait for messages of workers."""
        busy = [each for each in self._workers if each.task is not None]
        ready = wait([each.connection for each in busy], timeout)
        for worker in busy:
            message = self._receive(worker) if worker.connection in ready else None
            if message is not None:
                yield worker.key, message

    def copies(self, key: str) -> None:
        """None: workers share the folder of checkpoints."""

    def close(self) -> None:
        """End all workers; a training under way saves a checkpoint first."""
        for worker in self._workers:
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join(GRACE_PERIOD)
            worker.process.kill()
            worker.process.join()
            worker.connection.close()
        self._workers.clear()

    def _start(self, number: int) -> _Worker:
        context = get_context("spawn")  # CUDA and threads do not survive a fork
        here, there = context.Pipe()
        gpus = ",".join(str(number * self._gpus + each) for each in range(self._gpus))
        level = logging.getLogger("losslab").getEffectiveLevel()
        process = context.Process(
            target=serve, args=(there, self._threads, gpus, level), name=f"worker {number + 1}"
        )
        process.start()
        there.close()  # so that the death of the process is the end of the pipe
        return _Worker(number, process, here)

    def _begin(self, worker: _Worker, task: NodeTask) -> None:
        with suppress(BrokenPipeError):  # it is dead, as the next message will tell
            worker.connection.send(task)

    def _receive(self, worker: _Worker) -> Message | None:
        try:
            message: Message = worker.connection.recv()
        except (EOFError, ConnectionResetError):
            return self._replace(worker, worker.task) if worker.task else None
        if isinstance(message, Outcome):
            worker.task = None
        return message

    def _replace(self, worker: _Worker, task: NodeTask) -> Outcome | None:
        """Start a new process for a worker that died, and its task again, unless it died often."""
        worker.process.join()
        worker.connection.close()
        reason = f"its worker died ({_describe_exit(worker.process.exitcode)})"
        new = self._start(worker.number)
        worker.process, worker.connection, worker.tries = (
            new.process,
            new.connection,
            worker.tries + 1,
        )
        if worker.tries > RETRIES:
            worker.task = None
            return Outcome(TrainingFailedError(f"{reason} {worker.tries} times"))
        logger.warning("%s: %s; it is begun again", task.node.name, reason)
        self._begin(worker, task)
        return None


def default_workers(training: TrainingSettings) -> int:
    """Trainings that this machine has room for: by its GPUs, else by its cores."""
    import torch

    gpus = torch.cuda.device_count()
    cores = torch.get_num_threads()
    if gpus:
        return max(1, gpus // training.processes)
    return max(1, cores // ((training.threads or cores) * training.processes))


def worker_resources(training: TrainingSettings, workers: int) -> dict[str, int]:
    """CPU threads of each worker, and its GPUs; the threads of a recipe that takes all are kept."""
    import torch

    cores = torch.get_num_threads()
    share = max(1, cores // workers) if training.threads else cores
    gpus = training.processes if torch.cuda.device_count() >= workers * training.processes else 0
    return {"threads": share, "gpus": gpus}


def _describe_exit(status: int | None) -> str:
    if status is None or status >= 0:
        return f"exit status {status}"
    return f"{signal.Signals(-status).name}; SIGKILL may mean that memory ran out"


def serve(connection: Connection, threads: int, gpus: str, level: int) -> None:
    """A worker's life: tasks in, messages out, until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it, too, and ends its workers
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    Thread(target=_die_with_parent, daemon=True).start()
    if gpus:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpus
    import torch

    torch.set_num_threads(threads)
    lock = Lock()

    def send(message: Message) -> None:
        with lock:
            connection.send(message)

    silence(send, level)
    while True:
        try:
            task = connection.recv()
        except EOFError:
            return
        send(run_task(task, send))


def _die_with_parent() -> None:
    """End at once when the parent has been killed: nobody waits for the results."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
