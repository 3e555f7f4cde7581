"""What a run has to compute: which nodes are stale and why, and what every dataset is made of."""

import logging
from collections.abc import Iterator
from functools import cached_property
from hashlib import sha256
from typing import Any

from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node

from losslab.datasets.checked import Checked
from losslab.datasets.folders import FoldMetricsDataset
from losslab.errors import GATHERS, Failure, LineageError
from losslab.manifest import SHORT, BrokenFileError, Lineage, Provenance
from losslab.runners.fingerprint import (
    Procedure,
    Record,
    explain,
    fingerprint,
    flatten_parameters,
    is_parameter,
    load,
    refuse_other_parameters,
)

FOLD = "split.fold"
logger = logging.getLogger(__name__)


class RunPlan:
    """A pipeline, its datasets, and the record of each that is known so far.

    A run reads exactly the versions it wrote or chose; a dataset it does not make is chosen here.
    """

    def __init__(self, pipeline: Pipeline, catalog: DataCatalog, *, fresh: bool = False) -> None:
        self.pipeline, self.catalog, self.fresh = pipeline, catalog, fresh
        self.order = depth_first(pipeline)
        self.datasets: dict[str, Any] = {
            name: catalog.get(name, fallback_to_runtime_pattern=True)
            for name in pipeline.datasets()
        }
        self._procedures: dict[Node, Procedure] = {}
        self._file_contents: dict[str, str | None] = {}
        self._refuse_versions_of_outputs()
        self.records = dict(self._choose_inputs())

    def explain(self) -> dict[str, str]:
        """By stage and loss: ``current``, or ``stale:`` and why."""
        groups: dict[str, list[str]] = {}
        for node, reason in self.stale_nodes.items():
            groups.setdefault(group_of(node), []).append(reason)
        return {group: _summarise(reasons) for group, reasons in groups.items()}

    def fingerprint(self, node: Node, records: dict[str, Record] | None = None) -> Provenance:
        """What the outputs of ``node`` are made of, by what is known of its inputs."""
        known = self.records if records is None else records
        if node not in self._procedures:
            self._procedures[node] = Procedure.of(node, self.catalog)
        return fingerprint(node, self._procedures[node], known, gathers=GATHERS in node.tags)

    def record(self, node: Node, made: Provenance) -> None:
        """Note what the outputs of ``node`` are, as pinned."""
        self.records |= self._records(node, made)

    def record_failure(self, name: str, failure: Failure) -> None:
        """Note that ``failure`` stands in the place of a dataset in memory."""
        self.records[name] = Record(_hash(failure.node, failure.reason), Lineage())

    @cached_property
    def stale_nodes(self) -> dict[Node, str]:
        """Every node that saves something, with the reason why it is stale, or ``""``."""
        return dict(self._find_stale())

    def _find_stale(self) -> Iterator[tuple[Node, str]]:
        records, again = dict(self.records), set[str]()
        for node in self.order:
            reason = next(
                (f"input {name} is computed again" for name in node.inputs if name in again), ""
            )
            if not reason:
                made = self.fingerprint(node, records)
                version = None if self.fresh else self.current_version(node, made)
                if version is None and self.saved(node):
                    reason = "--fresh" if self.fresh else self._why_stale(node, made)
                else:
                    records |= self._records(node, made, version)
            again |= set(node.outputs) if reason else set()
            if self.saved(node):
                yield node, reason

    def _why_stale(self, node: Node, made: Provenance) -> str:
        for name in self.saved(node):
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
            elif isinstance(dataset, FoldMetricsDataset):
                yield name, self._choose_folds(dataset, parameters)
            elif isinstance(dataset, MemoryDataset) and not is_parameter(name):
                raise LineageError(
                    f"{name} is kept in memory alone and needs the nodes before it: leave out "
                    "--from-nodes (what is current is not computed again), or choose one loss by "
                    "--pipelines=<loss>_loss"
                )
            elif (content := self._content_of_files(name)) is not None:
                yield name, Record(content, Lineage())

    def _choose_folds(self, dataset: FoldMetricsDataset, parameters: dict[str, Any]) -> Record:
        """Pin the results of the run's losses that fit its parameters, all but the fold's number."""
        shared = {name: value for name, value in parameters.items() if name != FOLD}
        losses = shared.get("losses") or {loss for loss, _ in dataset.results}
        records = {
            f"{loss}, fold {fold}": _choose(f"{loss}, fold {fold}", metrics, shared, strict=True)
            for (loss, fold), metrics in dataset.results.items()
            if loss in losses
        }
        upstream: dict[str, Any] = {}
        for name, record in records.items():
            self._refuse_other_files(name, record)
            upstream |= record.lineage.parameters
        upstream.pop(FOLD, None)
        contents = {name: record.sha256 for name, record in records.items()}
        return Record(dataset.fingerprint(), Lineage(contents, upstream))

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

    def saved(self, node: Node) -> list[str]:
        """The outputs of a node that are files."""
        return [name for name in node.outputs if isinstance(self.datasets[name], Checked)]

    def current_version(self, node: Node, made: Provenance) -> str | None:
        """The newest version in which all outputs of a node were made of the same and verify."""
        outputs: list[Checked] = [self.datasets[name] for name in self.saved(node)]
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
        for name in self.saved(node):
            dataset: Checked = self.datasets[name]
            chosen = dataset.resolve_load_version() if version is None else version
            contents[name] = dataset.verified(chosen or "").sha256[:SHORT]
        return {name: Record(content, made.lineage) for name, content in contents.items()}


def group_of(node: Node) -> str:
    """The loss or stage a node belongs to: the last part of its namespace."""
    return (node.namespace or node.name).split(".")[-1]


def depth_first(pipeline: Pipeline) -> list[Node]:
    """Nodes in an order in which one result is finished before the next; longest chains first."""
    producers = {name: node for node in pipeline.nodes for name in node.outputs}
    consumed = {name for node in pipeline.nodes for name in node.inputs}
    lengths: dict[Node, int] = {}
    for node in pipeline.nodes:  # in an order of dependence
        before = [lengths[producers[name]] for name in node.inputs if name in producers]
        lengths[node] = 1 + max(before, default=0)
    order: dict[Node, None] = {}

    def visit(node: Node) -> None:
        if node not in order:
            before = [producers[name] for name in node.inputs if name in producers]
            for producer in sorted(before, key=lambda each: -lengths[each]):
                visit(producer)
            order[node] = None

    for node in pipeline.nodes:
        if not consumed & set(node.outputs):
            visit(node)
    return list(order)


def _choose(name: str, dataset: Checked, parameters: dict[str, Any], *, strict: bool) -> Record:
    """The newest version that verifies, pinned; if ``strict``, one made with the run's parameters."""
    if dataset.failure:
        raise LineageError(
            f"{name}: {dataset.failure}; run it again, or report on fewer --losses or --baselines"
        )
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
    advice = "run the pipeline that makes it, or report on fewer --losses or --baselines"
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


def _hash(*parts: str) -> str:
    return sha256("\n".join(parts).encode()).hexdigest()[:SHORT]
