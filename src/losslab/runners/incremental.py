"""The incremental runner: a node is computed again only if its code, parameters or inputs changed.

A run reads exactly the versions it wrote or chose. Losses are done depth first; a node that fails
costs what depends on it, and nothing else.
"""

import errno
import logging
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

from kedro.framework.hooks.markers import hook_spec
from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node
from kedro.runner import SequentialRunner
from kedro.runner.task import Task

from losslab.datasets.checked import Checked
from losslab.datasets.folders import CheckpointsDataset
from losslab.errors import GATHERS, FailedNodesError, Failure, LineageError, LosslabError
from losslab.manifest import SHORT, BrokenFileError, Lineage, Provenance
from losslab.runners.fingerprint import (
    Record,
    explain,
    fingerprint,
    flatten_parameters,
    is_parameter,
    load,
    refuse_other_parameters,
)
from losslab.runners.locks import locked
from losslab.tracking.provenance import describe_environment

DISK_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
"""Errors that every further save would meet."""
logger = logging.getLogger(__name__)


class RunnerSpecs:
    """Hooks that this runner calls beside Kedro's."""

    @hook_spec
    def node_is_current(self, node: Node, catalog: DataCatalog) -> None:
        """The outputs of ``node`` are those of an earlier run."""

    @hook_spec
    def node_failed(self, node: Node, failure: Failure) -> None:
        """``node``, or a node it depends on, failed; the run goes on."""


class IncrementalRunner(SequentialRunner):
    """Runs what is not current; ``fresh``: everything."""

    def __init__(self, is_async: bool = False, fresh: bool = False) -> None:
        super().__init__(is_async=is_async)
        self._fresh = fresh

    def __str__(self) -> str:
        """Told to hooks as a sequential runner, which it is: Kedro-Viz tracks no others."""
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
        run = IncrementalRun(pipeline, catalog, fresh=self._fresh)
        for group, state in run.explain().items():
            logger.info("%s: %s", group, state)
        run.execute(hook_manager, run_id or "")


class IncrementalRun:
    """One run of a pipeline: what its datasets are made of, and which nodes are stale."""

    def __init__(self, pipeline: Pipeline, catalog: DataCatalog, *, fresh: bool = False) -> None:
        self.pipeline, self.catalog, self.fresh = pipeline, catalog, fresh
        self.order = depth_first(pipeline)
        self.datasets: dict[str, Any] = {
            name: catalog.get(name, fallback_to_runtime_pattern=True)
            for name in pipeline.datasets()
        }
        self.failures: dict[str, Failure] = {}
        self._errors: list[Exception] = []
        self._deferred: dict[str, Node] = {}
        self._file_contents: dict[str, str | None] = {}
        self._load_counts = Counter(chain.from_iterable(node.inputs for node in pipeline.nodes))
        self._refuse_versions_of_outputs()
        self.records = dict(self._choose_inputs())

    def explain(self) -> dict[str, str]:
        """By stage and loss: ``current``, or ``stale:`` and why."""
        groups: dict[str, list[str]] = {}
        for node, reason in self._plan():
            groups.setdefault((node.namespace or node.name).split(".")[-1], []).append(reason)
        return {group: _summarise(reasons) for group, reasons in groups.items()}

    def execute(self, hook_manager: Any, run_id: str) -> None:
        """Compute what is stale; raise at the end if something failed."""
        self._hooks, self._run_id = hook_manager, run_id
        for node in self.order:
            self._handle(node)
        self._raise_failures()

    def _plan(self) -> Iterator[tuple[Node, str]]:
        """Every node that saves something, with the reason why it is stale, or ``""``."""
        records, again = dict(self.records), set[str]()
        for node in self.order:
            reason = next(
                (f"input {name} is computed again" for name in node.inputs if name in again), ""
            )
            if not reason:
                made = self._fingerprint(node, records)
                version = None if self.fresh else self._current_version(node, made)
                if version is None and self._saved(node):
                    reason = "--fresh" if self.fresh else self._why_stale(node, made)
                else:
                    records |= self._records(node, made, version)
            again |= set(node.outputs) if reason else set()
            if self._saved(node):
                yield node, reason

    def _why_stale(self, node: Node, made: Provenance) -> str:
        for name in self._saved(node):
            dataset: Checked = self.datasets[name]
            versions = dataset.versions()
            if not versions:
                return f"{name} is missing"
            try:
                old = dataset.verified(versions[0]).provenance
            except BrokenFileError as error:
                return str(error)
        return explain(old, made)

    def _refuse_versions_of_outputs(self) -> None:
        """A version asked for by --load-versions must not be one that this run computes."""
        for name in sorted(self.pipeline.all_outputs()):
            dataset = self.datasets[name]
            if isinstance(dataset, Checked) and dataset._version and dataset._version.load:
                raise LineageError(
                    f"--load-versions names {name}, which this run computes: leave its node out, "
                    "for instance by --from-nodes"
                )

    def _choose_inputs(self) -> Iterator[tuple[str, Record]]:
        """The datasets that no node of this run makes: those that verify and fit its parameters."""
        parameters = flatten_parameters(load(self.catalog, "parameters"))
        for name in sorted(self.pipeline.inputs()):
            dataset = self.datasets[name]
            if isinstance(dataset, Checked):
                readers = [node for node in self.pipeline.nodes if name in node.inputs]
                strict = any("report" not in node.tags for node in readers)
                record = _choose(name, dataset, parameters, strict=strict)
                self._refuse_other_files(name, record)
                yield name, record
            elif isinstance(dataset, MemoryDataset) and not is_parameter(name):
                raise LineageError(
                    f"{name} is kept in memory alone and needs the nodes before it: leave out "
                    "--from-nodes (what is current is not computed again), or choose one loss by "
                    "--pipelines=<loss>_loss"
                )
            elif (content := self._content_of_files(name)) is not None:
                yield name, Record(content, Lineage())

    def _refuse_other_files(self, name: str, record: Record) -> None:
        """Raise LineageError if files that a dataset was made of have changed since."""
        for origin, content in record.lineage.datasets.items():
            if (self._content_of_files(origin) or content) != content:
                raise LineageError(
                    f"{name} was made of other {origin}, which have changed since: run the nodes "
                    "before it as well"
                )

    def _content_of_files(self, name: str) -> str | None:
        """A hash of files that are no dataset of a node: raw files of a corpus."""
        if name not in self._file_contents:
            dataset: Any = self.catalog.get(name) if name in self.catalog else None
            found = dataset.fingerprint() if hasattr(dataset, "fingerprint") else None
            self._file_contents[name] = found
        return self._file_contents[name]

    def _handle(self, node: Node) -> None:
        failed = self._failed_input(node)
        if failed:
            self._fail(node, failed)
        elif not self._saved(node):
            with self._isolated(node):
                self._defer(node)
        else:
            with self._isolated(node):
                self._update(node)
            SequentialRunner._release_datasets(node, self.catalog, self._load_counts, self.pipeline)

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
        except Exception as error:
            if _is_fatal(error) or self._is_needed_by_all(node):
                raise
            self._errors.append(error)
            self._fail(node, Failure(node.name, _reason(error)))

    def _defer(self, node: Node) -> None:
        """Note what a node makes in memory; it is computed when a stale node asks for it."""
        made = self._fingerprint(node, self.records)
        self.records |= self._records(node, made)
        self._deferred |= dict.fromkeys(node.outputs, node)

    def _update(self, node: Node) -> None:
        """Compute a node if it is stale, else take what an earlier run made."""
        made = self._fingerprint(node, self.records)
        if self.fresh or not self._adopt(node, made):
            self._compute_deferred(node)
            failed = self._failed_input(node)
            if failed:
                self._fail(node, failed)
                return
            self._compute(node, made)
        self.records |= self._records(node, made)

    def _adopt(self, node: Node, made: Provenance) -> bool:
        """Take an earlier version; as a new one if it is not the newest, or has another upstream."""
        version = self._current_version(node, made)
        if version is None:
            return False
        outputs: list[Checked] = [self.datasets[name] for name in self._saved(node)]
        same = all(
            each.versions()[0] == version
            and each.verified(version).provenance.lineage == made.lineage
            for each in outputs
        )
        for each in outputs:
            each.adopt(version, None if same else made.lineage)
        self._hooks.hook.node_is_current(node=node, catalog=self.catalog)
        return True

    def _compute(self, node: Node, made: Provenance) -> None:
        saved = [self.datasets[name] for name in self._saved(node)]
        with locked(Path(saved[0]._filepath), made.fingerprint[:SHORT], node.name) as waited:
            if waited and not self.fresh and self._adopt(node, made):
                return
            made = replace(made, run={"id": self._run_id, **self._environment})
            for dataset in saved:
                dataset.provenance = made
            with self._checkpoints(node, made):
                self._run_task(node)
        logger.info("Completed node: %s", node.name)

    @contextmanager
    def _checkpoints(self, node: Node, made: Provenance) -> Iterator[None]:
        """Give a node checkpoints of this very configuration; cleared when its outputs are saved."""
        found = [self.datasets[name] for name in node.inputs]
        checkpoints = [each for each in found if isinstance(each, CheckpointsDataset)]
        for each in checkpoints:
            each.key = f"{node.name.split('.')[-2]}-{made.fingerprint[:SHORT]}"
            if self.fresh:
                each.load().clear()
        yield
        for each in checkpoints:
            each.load().clear()

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
                    producer, self.catalog, self._load_counts, self.pipeline
                )

    def _run_task(self, node: Node) -> None:
        Task(
            node, self.catalog, is_async=False, hook_manager=self._hooks, run_id=self._run_id
        ).execute()

    def _fail(self, node: Node, failure: Failure) -> None:
        """Note that a node's outputs are not to be had; in memory the failure takes their place."""
        for name in node.outputs:
            self.failures[name] = failure
            dataset = self.datasets[name]
            if isinstance(dataset, Checked):
                dataset.mark_failed(failure)
            else:
                dataset.save(failure)
                self.records[name] = Record(_hash(failure.node, failure.reason), Lineage())
        self._hooks.hook.node_failed(node=node, failure=failure)

    def _is_needed_by_all(self, node: Node) -> bool:
        """Whether no training could be done without ``node``."""
        trainings = {each for each in self.pipeline.nodes if "training" in each.tags}
        downstream = self.pipeline.from_nodes(node.name).nodes
        return "." not in (node.namespace or "") and trainings <= set(downstream)

    def _raise_failures(self) -> None:
        if not self._errors:
            return
        trained = [node for node in self.order if "training" in node.tags]
        if len(self._errors) == 1 and all(
            set(node.outputs) & set(self.failures) for node in trained
        ):
            raise self._errors[0]
        told = dict.fromkeys(f"{each.node}: {each.reason}" for each in self.failures.values())
        raise FailedNodesError(
            f"{'; '.join(told)}; everything that does not depend on it was finished"
        ) from self._errors[0]

    def _saved(self, node: Node) -> list[str]:
        """The outputs of a node that are files."""
        return [name for name in node.outputs if isinstance(self.datasets[name], Checked)]

    def _fingerprint(self, node: Node, records: dict[str, Record]) -> Provenance:
        return fingerprint(node, self.catalog, records, gathers=GATHERS in node.tags)

    def _current_version(self, node: Node, made: Provenance) -> str | None:
        """The newest version in which all outputs of a node were made of the same and verify."""
        outputs: list[Checked] = [self.datasets[name] for name in self._saved(node)]
        for version in outputs[0].versions() if outputs else ():
            try:
                prints = {each.verified(version).provenance.fingerprint for each in outputs}
            except BrokenFileError as error:
                logger.warning("passed over: %s", error)
            else:
                if prints == {made.fingerprint}:
                    return version
        return None

    def _records(
        self, node: Node, made: Provenance, version: str | None = None
    ) -> dict[str, Record]:
        """A node's outputs, by default the pinned ones; of those in memory, what they are made of."""
        contents = {name: _hash(made.fingerprint, name) for name in node.outputs}
        for name in self._saved(node):
            dataset: Checked = self.datasets[name]
            chosen = dataset.resolve_load_version() if version is None else version
            contents[name] = dataset.verified(chosen or "").sha256[:SHORT]
        return {name: Record(content, made.lineage) for name, content in contents.items()}

    @cached_property
    def _environment(self) -> dict[str, Any]:
        return describe_environment(Path.cwd())


def depth_first(pipeline: Pipeline) -> list[Node]:
    """Nodes in an order in which one result is finished before the next is begun."""
    producers = {name: node for node in pipeline.nodes for name in node.outputs}
    consumed = {name for node in pipeline.nodes for name in node.inputs}
    order: dict[Node, None] = {}

    def visit(node: Node) -> None:
        if node not in order:
            for name in node.inputs:
                if name in producers:
                    visit(producers[name])
            order[node] = None

    for node in pipeline.nodes:
        if not consumed & set(node.outputs):
            visit(node)
    return list(order)


def _choose(name: str, dataset: Checked, parameters: dict[str, Any], *, strict: bool) -> Record:
    """The newest version that verifies, pinned; if ``strict``, one made with the run's parameters."""
    if dataset.failure:
        raise LineageError(f"{name}: {dataset.failure}; run it again, or report on fewer --losses")
    refusals: list[str] = []
    for version in _candidates(dataset):
        try:
            manifest = dataset.verified(version)
            refuse_other_parameters(name, manifest.provenance.lineage, parameters)
        except BrokenFileError as error:
            refusals.append(str(error))
            continue
        except LineageError as error:
            refusals.append(str(error))
            if strict:
                continue
        for refusal in dict.fromkeys(refusals):
            if strict or name.endswith("_metrics"):
                logger.warning("passed over: %s" if strict else "%s", refusal)
        dataset.pin(version)
        return Record(manifest.sha256[:SHORT], manifest.provenance.lineage)
    advice = "run the pipeline that makes it, or report on fewer --losses"
    raise LineageError(refusals[0] if refusals else f"no {name} was saved so far: {advice}")


def _candidates(dataset: Checked) -> list[str]:
    asked = dataset._version.load if dataset._version else None
    return [str(asked)] if asked else dataset.versions()


def _summarise(reasons: list[str]) -> str:
    """The reason of a group: what changed itself, rather than what follows from that."""
    stale = list(dict.fromkeys(reason for reason in reasons if reason))
    causes = [reason for reason in stale if not reason.endswith("is computed again")]
    named = list(dict.fromkeys(part for cause in causes for part in cause.split(", ")))
    return f"stale: {', '.join(named[:3] or stale[:1])}" if stale else "current"


def _is_fatal(error: BaseException | None) -> bool:
    """Whether every further save would fail, too: a full or read-only disk."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in DISK_ERRORS:
            return True
        error = error.__cause__ or error.__context__
    return False


def _reason(error: Exception) -> str:
    if isinstance(error, LosslabError):
        return str(error)
    logger.error("a node failed", exc_info=error)
    return f"{type(error).__name__}: {error}"


def _hash(*parts: str) -> str:
    return sha256("\n".join(parts).encode()).hexdigest()[:SHORT]
