"""Trainings on a Ray cluster: a task per loss and seed, on whatever node has room."""

import logging
import os
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from time import monotonic
from typing import Any

from losslab import __file__ as package_file
from losslab.errors import LosslabError, TrainingFailedError
from losslab.parameters import TrainingSettings
from losslab.runners.incremental import IncrementalRunner
from losslab.runners.processes import GRACE_PERIOD, RETRIES
from losslab.runners.store import CheckpointCopies, Store, StoredTask
from losslab.runners.tasks import Executor, Message, NodeTask, Outcome, run_task, silence

SECONDS_BETWEEN_LOOKS = 0.2
"""At tasks that have ended, and at messages of those that run."""
SECONDS_BETWEEN_LETTERS = 0.5
"""Messages of a task are sent together."""
logger = logging.getLogger(__name__)


class RayRunner(IncrementalRunner):
    """Runs what is not current, trainings on a Ray cluster.

    Args:
        address: of the cluster (``auto``, ``ray://host:10001``); None: RAY_ADDRESS, else Ray is
            started on this machine.
        store: where files of tasks travel through (``s3://bucket/folder``); None: every node sees
            the folder of the data under the same path.
        workers: tasks at a time; None: as many as the cluster has room for.
    """

    def __init__(
        self,
        is_async: bool = False,
        fresh: bool = False,
        workers: int | None = None,
        address: str | None = None,
        store: str | None = None,
    ) -> None:
        super().__init__(is_async=is_async, fresh=fresh, workers=workers)
        self._address, self._store = address, store

    def make_executor(self, training: TrainingSettings, trainings: int) -> Executor:
        """The cluster, with what a training of the recipe needs for each task."""
        store = Store(self._store) if self._store else None
        connect(self._address)
        return RayExecutor(task_resources(training), slots=self._workers, store=store)


def connect(address: str | None) -> None:
    """Connect to a cluster, or start one here; its workers run the code of this process."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    try:
        ray.init(
            address,
            runtime_env={"py_modules": [str(Path(package_file).parent)]},
            logging_level=logging.WARNING,
            log_to_driver=False,
            include_dashboard=False,
        )
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise LosslabError(f"no Ray cluster at {address or 'this machine'}: {error}") from error


def task_resources(training: TrainingSettings) -> dict[str, float]:
    """CPUs and GPUs of one training; a recipe that takes all cores gets those of a node."""
    nodes = list(_nodes())
    gpus = training.processes if any(node.get("GPU") for node in nodes) else 0
    cores = min(node.get("CPU", 0.0) for node in nodes)
    cpus = training.threads * training.processes if training.threads else max(1.0, cores)
    needs = {"CPU": float(cpus), "GPU": float(gpus)}
    if not any(_room(node, needs) for node in nodes):
        raise LosslabError(
            f"no node of the Ray cluster has {cpus:g} CPUs and {gpus} GPUs, which the recipe's "
            "training.threads and training.processes ask for"
        )
    return needs


def _nodes() -> Iterator[Mapping[str, float]]:
    """The resources of every node that is alive."""
    import ray

    every: Any = ray.nodes  # which has no types
    return (node["Resources"] for node in every() if node["Alive"])


def _room(node: Mapping[str, float], needs: Mapping[str, float]) -> int:
    """How many tasks a node can run at a time.

    >>> _room({"CPU": 8.0, "GPU": 1.0}, {"CPU": 2.0, "GPU": 0.0})
    4
    """
    return min(int(node.get(name, 0.0) // amount) for name, amount in needs.items() if amount)


class RayExecutor:
    """Runs tasks on the cluster that this process is connected to.

    A task whose node or process dies is begun again elsewhere; a training goes on from its
    checkpoint.

    Args:
        needs: resources of a task, by Ray's names.
        slots: tasks at a time; None: as many as there is room for.
        store: what the files of tasks travel through; None: nodes share the folder.
    """

    def __init__(
        self, needs: Mapping[str, float], *, slots: int | None = None, store: Store | None = None
    ) -> None:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self._needs, self._max_slots, self._store = needs, slots, store
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self._mailbox: Any = (
            ray.remote(Mailbox).options(num_cpus=0, scheduling_strategy=here).remote()
        )
        self._run: Any = ray.remote(run_on_node).options(
            num_cpus=needs["CPU"], num_gpus=needs["GPU"], max_retries=RETRIES
        )
        self._tasks: dict[int, NodeTask | StoredTask] = {}
        self._running: dict[Any, int] = {}
        self._begun: set[int] = set()
        self._run_name = f"{os.getpid()}-{ray.get_runtime_context().get_job_id()}"

    @property
    def slots(self) -> int:
        """Tasks at a time: as nodes come and go."""
        return self._max_slots or max(1, sum(_room(node, self._needs) for node in _nodes()))

    def submit(self, key: int, task: NodeTask) -> None:
        """Begin a task; its files are put into the store first, if there is one."""
        sent: NodeTask | StoredTask = task
        if self._store is not None:
            sent = StoredTask.send(task, self._store, f"tasks/{self._run_name}/{key}")
        level = logging.getLogger("losslab").getEffectiveLevel()
        self._tasks[key] = sent
        self._running[self._run.remote(key, sent, self._mailbox, level)] = key

    def messages(self, timeout: float | None = None) -> Iterator[tuple[int, Message]]:
        """Wait for messages; those of a task come before its outcome."""
        import ray

        until = None if timeout is None else monotonic() + timeout
        while True:
            done, _ = ray.wait(list(self._running), timeout=SECONDS_BETWEEN_LOOKS)
            letters = ray.get(self._mailbox.take.remote())
            for key, message in letters:
                if isinstance(message, Begun):
                    self._tell_again(key, message)
                else:
                    yield key, message
            for reference in done:
                key = self._running.pop(reference)
                yield key, self._outcome(reference, self._tasks.pop(key))
            if letters or done or (until is not None and monotonic() > until):
                return

    def copies(self, key: str) -> CheckpointCopies | None:
        """Copies of checkpoints in the store, if there is one."""
        return CheckpointCopies(self._store, key) if self._store else None

    def close(self) -> None:
        """End all tasks, trainings after a checkpoint, and leave the cluster."""
        import ray

        for reference in self._running:
            ray.cancel(reference)
        if self._running:
            count = len(self._running)
            ray.wait(list(self._running), num_returns=count, timeout=GRACE_PERIOD)
        ray.shutdown()

    def _tell_again(self, key: int, begun: "Begun") -> None:
        if key in self._begun:
            name = self._tasks[key].node.name
            logger.warning("%s: its worker died; it is begun again on %s", name, begun.host)
        self._begun.add(key)

    def _outcome(self, reference: Any, task: NodeTask | StoredTask) -> Outcome:
        import ray

        try:
            outcome: Outcome = ray.get(reference)
            if isinstance(task, StoredTask):
                task.receive(outcome)
        except Exception as error:  # noqa: BLE001 - of Ray, of the store
            reason = str(error).strip().splitlines()[0]
            return Outcome(TrainingFailedError(f"its worker died: {reason}"))
        return outcome


class Begun:
    """A worker has begun a task."""

    def __init__(self, host: str) -> None:
        self.host = host


class Mailbox:
    """Keeps messages of workers until the parent takes them; an actor on the parent's node."""

    def __init__(self) -> None:
        self._letters: list[tuple[int, Any]] = []

    def put(self, letters: list[tuple[int, Any]]) -> None:
        """Add messages, each with the key of its task."""
        self._letters += letters

    def take(self) -> list[tuple[int, Any]]:
        """All messages since the last time."""
        taken, self._letters = self._letters, []
        return taken


class _Letters(AbstractContextManager["_Letters"]):
    """Messages of one task on their way to the mailbox, several at a time."""

    def __init__(self, key: int, mailbox: Any) -> None:
        self._key, self._mailbox = key, mailbox
        self._letters: list[tuple[int, Any]] = []
        self._sent_at = monotonic()

    def send(self, message: Any) -> None:
        """Send a message, by and by."""
        self._letters.append((self._key, message))
        if monotonic() - self._sent_at > SECONDS_BETWEEN_LETTERS:
            self.__exit__()

    def __exit__(self, *_: object) -> None:
        import ray

        ray.get(self._mailbox.put.remote(self._letters))
        self._letters, self._sent_at = [], monotonic()


def run_on_node(key: int, task: NodeTask, mailbox: Any, level: int) -> Outcome:
    """Run a task in a process of the cluster."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # Ray's way to cancel a task,
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})  # which its node blocks
    with _Letters(key, mailbox) as letters:
        letters.send(Begun(socket.gethostname()))
        silence(letters.send, level)
        return run_task(task, letters.send)
