"""The incremental runner: a node is computed again only if its code, parameters or inputs changed.

Losses are done depth first, side by side where there are workers; a node that fails costs what
depends on it, and nothing else.
"""

import logging
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, count
from pathlib import Path
from typing import Any

from kedro.framework.hooks.markers import hook_spec
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node
from kedro.runner import SequentialRunner
from kedro.runner.task import Task

from losslab.datasets.checked import Checked
from losslab.datasets.folders import CheckpointsDataset
from losslab.errors import (
    GATHERS,
    FailedNodesError,
    Failure,
    LosslabError,
    NotApplicableError,
    Skipped,
)
from losslab.manifest import SHORT, Provenance
from losslab.parameters import TrainingSettings
from losslab.runners.fingerprint import is_parameter, load
from losslab.runners.locks import RunLock
from losslab.runners.plan import RunPlan, group_of
from losslab.runners.processes import ProcessExecutor, default_workers, worker_resources
from losslab.runners.progress import Progress
from losslab.runners.tasks import NUM_SEEDS, Executor, NodeTask, Outcome, disk_error
from losslab.tracking.provenance import describe_environment
from losslab.training.events import publish

SEARCH = "search"
"""Tag of nodes that train one network after the other."""
ELSEWHERE = frozenset({"training", "evaluation", "distillation", "baseline", SEARCH})
"""Tags of nodes that workers compute: those of a single loss or baseline."""
SECONDS_BETWEEN_LOCKS = 0.3
"""Until a lock that another run holds is asked for again."""
logger = logging.getLogger(__name__)


class RunnerSpecs:
    """Hooks that this runner calls beside Kedro's."""

    @hook_spec
    def node_is_current(self, node: Node, catalog: DataCatalog) -> None:
        """The outputs of ``node`` are those of an earlier run."""

    @hook_spec
    def node_computed(self, node: Node, catalog: DataCatalog) -> None:
        """A worker has saved the outputs of ``node``; Kedro's dataset hooks are not called for it."""

    @hook_spec
    def node_failed(self, node: Node, failure: Failure) -> None:
        """``node``, or a node it depends on, failed; the run goes on."""


class IncrementalRunner(SequentialRunner):
    """Runs what is not current.

    Args:
        fresh: everything is computed again.
        workers: losses and seeds at a time; None: as many as there are cores or GPUs for them.
    """

    def __init__(
        self, is_async: bool = False, fresh: bool = False, workers: int | None = None
    ) -> None:
        super().__init__(is_async=is_async)
        self._fresh, self._workers = fresh, workers

    def __str__(self) -> str:
        """Told to hooks as a sequential runner: Kedro-Viz tracks no others."""
        return "<losslab's kedro.runner.sequential_runner.SequentialRunner object>"

    def _run(
        self,
        pipeline: Pipeline,
        catalog: Any,
        hook_manager: Any = None,
        run_id: str | None = None,
    ) -> None:
        if not hasattr(hook_manager.hook, "node_is_current"):
            hook_manager.add_hookspecs(RunnerSpecs)
        plan = RunPlan(pipeline, catalog, fresh=self._fresh)
        stale = [node for node, reason in plan.stale_nodes.items() if reason]
        for group, state in plan.explain().items():
            logger.info("%s: %s", group, state)
        with closing(self._executor(plan, stale)) as executor, Progress(_losses(stale)) as progress:
            Execution(plan, hook_manager, run_id or "", executor, progress).run()

    def _executor(self, plan: RunPlan, stale: Sequence[Node]) -> Executor:
        trainings = _count_trainings(plan, stale)
        if not trainings:
            return ProcessExecutor(0)
        return self.make_executor(load(plan.catalog, "params:recipe").training, trainings)

    def make_executor(self, training: TrainingSettings, trainings: int) -> Executor:
        """Worker processes for so many trainings; none for a single one, which is done here."""
        workers = min(self._workers or default_workers(training), trainings)
        if workers < 2:
            return ProcessExecutor(0)
        executor = ProcessExecutor(workers, **worker_resources(training, workers))
        executor.start()
        return executor


def _count_trainings(plan: RunPlan, stale: Sequence[Node]) -> int:
    """How many trainings can be side by side: losses times seeds, and searches."""
    seeds = sum(load(plan.catalog, NUM_SEEDS) for node in stale if NUM_SEEDS in node.inputs)
    return int(seeds) + sum(SEARCH in node.tags for node in stale)


def _losses(stale: Sequence[Node]) -> Counter[str]:
    """By loss or baseline that has to be fitted or evaluated: how many of its nodes are stale."""
    of_losses = (
        node for node in stale if {"training", "evaluation", "baseline", SEARCH} & node.tags
    )
    return Counter(group_of(node) for node in of_losses if group_of(node) in node.tags)


@dataclass(eq=False)
class _Running:
    """A node under way: its lock, and the tasks that it is done by."""

    node: Node
    made: Provenance
    lock: RunLock
    checkpoints: list[CheckpointsDataset]
    tasks: deque[NodeTask]
    started: float = field(default_factory=time.monotonic)
    under_way: int = 0
    error: Exception | None = None


class Execution:
    """One run of a plan, by this process and, where there is an executor, by workers."""

    def __init__(
        self,
        plan: RunPlan,
        hook_manager: Any,
        run_id: str,
        executor: Executor,
        progress: Progress,
    ) -> None:
        self.plan, self.catalog, self.datasets = plan, plan.catalog, plan.datasets
        self._hook, self._run_id = hook_manager.hook, run_id
        self._hook_manager = hook_manager
        self._executor, self._progress = executor, progress
        self.failures: dict[str, Failure] = {}
        self._errors: list[Exception] = []
        self._deferred: dict[str, Node] = {}
        self._stale: dict[Node, Provenance] = {}
        self._locks: dict[Node, RunLock] = {}
        self._running: list[_Running] = []
        self._tasks: dict[int, _Running] = {}
        self._keys = count()
        nodes = plan.pipeline.nodes
        self._pending = {name for node in nodes for name in node.outputs}
        self._load_counts = Counter(chain.from_iterable(node.inputs for node in nodes))

    def run(self) -> None:
        """Compute what is stale; raise at the end if something failed."""
        todo = self.plan.order
        try:
            while todo or self._running:
                left = [node for node in todo if not (self._is_ready(node) and self._handle(node))]
                if self._running:
                    self._receive(SECONDS_BETWEEN_LOCKS if self._locks else None)
                elif len(left) == len(todo):  # another run has the locks
                    time.sleep(SECONDS_BETWEEN_LOCKS)
                todo = left
        finally:
            for running in self._running:
                running.lock.release()
        self._raise_failures()

    def _is_ready(self, node: Node) -> bool:
        return not self._pending & set(node.inputs)

    def _handle(self, node: Node) -> bool:
        """Do with a node what has to be done; False if it must wait."""
        failed = self._failed_input(node)
        if failed:
            self._fail(node, failed)
            return True
        with self._isolated(node):
            return self._update(node) if self.plan.saved(node) else self._defer(node)
        return True

    def _failed_input(self, node: Node) -> Failure | None:
        """A failure that keeps ``node`` from being computed."""
        if GATHERS in node.tags:
            return None
        return next((self.failures[name] for name in node.inputs if name in self.failures), None)

    @contextmanager
    def _isolated(self, node: Node) -> Iterator[None]:
        """Note what goes wrong in a node, and go on; raise what would go wrong everywhere."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - a node may raise anything
            self._fail_by_error(node, error)

    def _fail_by_error(self, node: Node, error: Exception) -> None:
        if isinstance(error, NotApplicableError):
            logger.info("%s is left out: %s", group_of(node), error)
            self._fail(node, Skipped(node.name, str(error)))
            return
        if disk_error(error) or self._is_needed_by_all(node):
            raise error
        self._errors.append(error)
        self._fail(node, Failure(node.name, _reason(error)))
        logger.error("%s failed: %s", node.name, error)

    def _defer(self, node: Node) -> bool:
        """Note what a node makes in memory; it is computed when a stale node asks for it."""
        self.plan.record(node, self.plan.fingerprint(node))
        self._deferred |= dict.fromkeys(node.outputs, node)
        self._pending -= set(node.outputs)
        return True

    def _update(self, node: Node) -> bool:
        """Take what an earlier run made, or compute a node; False if it must wait."""
        made = self._stale.get(node) or self.plan.fingerprint(node)
        if node not in self._stale and not self.plan.fresh and self._adopt(node, made):
            self._clear_checkpoints(node, made)
            return self._done(node, made)
        self._stale[node] = made
        elsewhere = self._is_for_workers(node)
        if elsewhere and not self._has_room():
            return False
        lock = self._locks.setdefault(node, self._lock(node, made))
        if not lock.acquire():
            return False
        del self._locks[node]
        if lock.waited and not self.plan.fresh and self._adopt(node, made):
            lock.release()
            return self._done(node, made)
        made = replace(made, run={"id": self._run_id, **self._environment})
        if elsewhere:
            self._begin(node, made, lock)
            return True
        try:
            return self._compute(node, made)
        finally:
            lock.release()

    def _lock(self, node: Node, made: Provenance) -> RunLock:
        folder = Path(self.datasets[self.plan.saved(node)[0]]._filepath)
        return RunLock(folder, made.fingerprint[:SHORT], node.name)

    def _is_for_workers(self, node: Node) -> bool:
        """Whether workers compute ``node``: not what is made of data in memory."""
        return (
            self._executor.slots > 0
            and bool(ELSEWHERE & node.tags)
            and not set(node.inputs) & set(self._deferred)
        )

    def _has_room(self) -> bool:
        waiting = any(running.tasks for running in self._running)
        return not waiting and len(self._tasks) < self._executor.slots

    def _adopt(self, node: Node, made: Provenance) -> bool:
        """Take an earlier version; as a new one if it is not the newest, or has another upstream."""
        version = self.plan.current_version(node, made)
        if version is None:
            return False
        outputs: list[Checked] = [self.datasets[name] for name in self.plan.saved(node)]
        same = all(
            each.versions()[0] == version
            and each.verified(version).provenance.lineage == made.lineage
            for each in outputs
        )
        for each in outputs:
            each.adopt(version, None if same else made.lineage)
        self._hook.node_is_current(node=node, catalog=self.catalog)
        return True

    def _compute(self, node: Node, made: Provenance) -> bool:
        """Compute a node in this process."""
        self._compute_deferred(node)
        failed = self._failed_input(node)
        if failed:
            self._fail(node, failed)
            return True
        for name in self.plan.saved(node):
            self.datasets[name].provenance = made
        checkpoints = self._checkpoints({name: self.datasets[name] for name in node.inputs}, made)
        started = time.monotonic()
        self._progress.begin(group_of(node))
        self._run_task(node)
        return self._done(node, made, checkpoints, started)

    def _checkpoints(
        self, datasets: Mapping[str, Any], made: Provenance
    ) -> list[CheckpointsDataset]:
        """Those among ``datasets``, set to the configuration that a node has."""
        found = [each for each in datasets.values() if isinstance(each, CheckpointsDataset)]
        for each in found:
            each.key = f"{made.node.split('.')[-2]}-{made.fingerprint[:SHORT]}"
            each.copies = self._executor.copies(each.key)
            if self.plan.fresh:
                each.load().clear()
        return found

    def _clear_checkpoints(self, node: Node, made: Provenance) -> None:
        """Remove what a kill between the save of a training and this left."""
        for each in self._checkpoints({name: self.datasets[name] for name in node.inputs}, made):
            each.load().clear()

    def _begin(self, node: Node, made: Provenance, lock: RunLock) -> None:
        """Hand a node to the workers; a training of several seeds seed by seed."""
        values = {name: load(self.catalog, name) for name in node.inputs if is_parameter(name)}
        names = {*node.inputs, *node.outputs} - set(values)
        datasets = {name: copy(self.datasets[name]) for name in names}
        for name in self.plan.saved(node):
            datasets[name].provenance = made
        checkpoints = self._checkpoints(datasets, made)
        task = NodeTask(node, datasets, values)
        running = _Running(node, made, lock, checkpoints, deque(task.by_seed()))
        self._running.append(running)
        self._hook.before_node_run(
            node=node,
            catalog=self.catalog,
            inputs=dict(values),
            is_async=False,
            run_id=self._run_id,
        )
        self._progress.begin(group_of(node))
        self._submit()

    def _submit(self) -> None:
        """Give tasks to idle workers; the one of all seeds when every seed is done."""
        for running in self._running:
            while running.tasks and len(self._tasks) < self._executor.slots:
                if running.under_way and running.tasks[0].saves:
                    break
                key = next(self._keys)
                self._tasks[key] = running
                running.under_way += 1
                self._executor.submit(key, running.tasks.popleft())

    def _receive(self, timeout: float | None) -> None:
        """Wait for messages of workers: events and log records pass through, outcomes count."""
        for key, message in self._executor.messages(timeout):
            if isinstance(message, logging.LogRecord):
                logging.getLogger(message.name).handle(message)
            elif isinstance(message, Outcome):
                self._end_task(self._tasks.pop(key), message.error)
            else:
                publish(message)
        self._submit()

    def _end_task(self, running: _Running, error: Exception | None) -> None:
        """Note the end of a task; after its last one, or an error, that of its node."""
        running.under_way -= 1
        if error is not None:
            running.error = running.error or error
            running.tasks.clear()
        if running.under_way or running.tasks:
            return
        self._running.remove(running)
        running.lock.release()
        node, shown = running.node, {"node": running.node, "catalog": self.catalog}
        if running.error is not None:
            told = {"inputs": {}, "is_async": False, "run_id": self._run_id}
            self._hook.on_node_error(error=running.error, **shown, **told)
            self._fail_by_error(node, running.error)
            return
        for name in self.plan.saved(node):
            self.datasets[name].pin(self.datasets[name].resolve_save_version() or "")
        self._done(node, running.made, running.checkpoints, running.started)
        told = {"inputs": {}, "outputs": {}, "is_async": False, "run_id": self._run_id}
        self._hook.after_node_run(**shown, **told)
        self._hook.node_computed(**shown)

    def _done(
        self,
        node: Node,
        made: Provenance,
        checkpoints: Sequence[CheckpointsDataset] | None = None,
        started: float = 0.0,
    ) -> bool:
        """Note what a node made; ``checkpoints``: it was computed, and needs them no more."""
        self.plan.record(node, made)
        self._pending -= set(node.outputs)
        SequentialRunner._release_datasets(
            node, self.catalog, self._load_counts, self.plan.pipeline
        )
        if checkpoints is not None:
            for each in checkpoints:
                each.load().clear()
            seconds = time.monotonic() - started
            logger.debug("Completed node: %s (%.2f s)", node.name, seconds)
            self._progress.complete(group_of(node))
        return True

    def _compute_deferred(self, node: Node) -> None:
        """Compute what ``node`` needs and is kept in memory alone."""
        for name in node.inputs:
            if name in self._deferred:
                producer = self._deferred[name]
                self._compute_deferred(producer)
                for output in producer.outputs:
                    self._deferred.pop(output, None)
                with self._isolated(producer):
                    self._run_task(producer)
                SequentialRunner._release_datasets(
                    producer, self.catalog, self._load_counts, self.plan.pipeline
                )

    def _run_task(self, node: Node) -> None:
        hooks = self._hook_manager
        Task(node, self.catalog, is_async=False, hook_manager=hooks, run_id=self._run_id).execute()

    def _fail(self, node: Node, failure: Failure) -> None:
        """Note that a node's outputs are not to be had; in memory the failure takes their place."""
        for name in node.outputs:
            self.failures[name] = failure
            dataset = self.datasets[name]
            if isinstance(dataset, Checked):
                dataset.mark_failed(failure)
            else:
                dataset.save(failure)
                self.plan.record_failure(name, failure)
        self._pending -= set(node.outputs)
        self._hook.node_failed(node=node, failure=failure)
        self._progress.complete(group_of(node))

    def _is_needed_by_all(self, node: Node) -> bool:
        """Whether no training could be done without ``node``."""
        pipeline = self.plan.pipeline
        trainings = {each for each in pipeline.nodes if "training" in each.tags}
        downstream = pipeline.from_nodes(node.name).nodes
        return "." not in (node.namespace or "") and trainings <= set(downstream)

    def _raise_failures(self) -> None:
        if not self._errors:
            return
        trained = [node for node in self.plan.order if "training" in node.tags]
        if len(self._errors) == 1 and all(
            set(node.outputs) & set(self.failures) for node in trained
        ):
            raise self._errors[0]
        failed = [each for each in self.failures.values() if not isinstance(each, Skipped)]
        told = dict.fromkeys(f"{each.node}: {each.reason}" for each in failed)
        raise FailedNodesError(
            f"{'; '.join(told)}; everything that does not depend on it was finished"
        ) from self._errors[0]

    @cached_property
    def _environment(self) -> dict[str, Any]:
        return describe_environment(Path.cwd())


def _reason(error: Exception) -> str:
    if isinstance(error, LosslabError):
        return str(error)
    logger.error("a node failed", exc_info=error)
    return f"{type(error).__name__}: {error}"
