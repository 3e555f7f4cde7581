"""The jobs of ``kedro sweep``: checked, planned, run one after the other, their metrics gathered."""

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import click
import pandas as pd
from kedro.framework.project import pipelines
from kedro.framework.session import KedroSession
from kedro.io import DataCatalog, DatasetError

from losslab.errors import LosslabError, ParameterError
from losslab.hooks import PART, RunPart
from losslab.parameters import (
    Sweep,
    SweepJob,
    did_you_mean,
    expand_sweep,
    losses_of,
    namespace,
    refuse_retrieval,
)
from losslab.parameters.sweeps import EACH_LABEL
from losslab.parameters.validation import merge_mappings
from losslab.parameters.variants import flatten
from losslab.reporting.definitions import METRICS
from losslab.runners import RunPlan
from losslab.runners.processes import default_workers
from losslab.runners.tasks import disk_error

Parameters = dict[str, Any]
Run = Callable[[Parameters, str], Any]
"""Runs a pipeline with parameters, as ``kedro run`` does."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SweepRun:
    """A sweep on a dataset with a recipe.

    Args:
        given: what the command line sets, ``sweep`` among it.
        check: all parameters of a run, validated.
    """

    sweep: Sweep
    given: Parameters
    parameters: Parameters
    losses: list[str]
    baseline: str | None
    check: Callable[[Parameters], Parameters]

    @classmethod
    def create(
        cls, name: str, given: Parameters, check: Callable[[Parameters], Parameters]
    ) -> "SweepRun":
        """The sweep ``name`` with what the command line sets; raise ParameterError at a mistake."""
        given = {**given, "sweep": name}
        parameters = check(given)
        refuse_retrieval(parameters["task"], "sweep")
        sweep = Sweep.model_validate(parameters["sweep"])
        if sweep.metric is not None and sweep.metric not in METRICS:
            raise ParameterError(did_you_mean(f"sweeps.{name}.metric", sweep.metric, METRICS))
        losses, baseline = losses_of(sweep, parameters["task"], parameters["losses"])
        return cls(sweep, given, parameters, losses, baseline, check)

    def job_params(self, job: SweepJob) -> Parameters:
        """What a job sets: the command line's parameters, and those of its point."""
        given = {key: value for key, value in self.given.items() if key not in ("sweep", "sweeps")}
        return merge_mappings(given, {**job.params, "losses": list(job.losses)})

    def expand(self, run: Run) -> list[SweepJob]:
        """Every job, its parameters checked; where labels are undersampled, ``data`` is run first."""
        counts = self._label_counts(run) if self._undersamples else Counter[str]()
        jobs = expand_sweep(
            self.sweep,
            recipe=self.parameters["recipe"]["name"],
            losses=self.losses,
            baseline=self.baseline,
            labels=sorted(counts),
        )
        self._refuse_given(jobs)
        for job in jobs:
            try:
                checked = self.check(self.job_params(job))
                refuse_small_labels(checked["undersample"], counts)
            except (ParameterError, click.ClickException) as error:
                message = error.message if isinstance(error, click.ClickException) else error
                raise ParameterError(f"{self.sweep.name}, {job.label}: {message}") from None
        return jobs

    @property
    def _undersamples(self) -> bool:
        names = self.sweep.parameters
        each_label = EACH_LABEL in self.sweep.grid.values()
        return each_label or any(name.startswith("undersample.") for name in names)

    def _label_counts(self, run: Run) -> Counter[str]:
        """Training documents of every label."""
        part = RunPart({"sweep": self.sweep.name, "point": "data"}, frozenset({"splits"}))
        given = {key: value for key, value in self.given.items() if key != "sweep"}
        with running(part):
            run(given, "data")
        splits = part.datasets["splits"]
        train = splits.loc[splits["split"] == "train", "labels"]
        return Counter(label for labels in train for label in set(labels))

    def _refuse_given(self, jobs: Iterable[SweepJob]) -> None:
        """A parameter of the command line must not be one that the sweep sets."""
        varied = {name for job in jobs for name in flatten(job.params)}
        for name in flatten(self.given):
            if name in varied:
                raise ParameterError(f"{name} is set by the sweep {self.sweep.name}: leave it out")

    def run(self, jobs: Sequence[SweepJob], run: Run) -> dict[str, Any]:
        """Run every job, whatever befell the others, and gather the metrics of each one's own run."""
        rows = []
        for number, job in enumerate(jobs, 1):
            click.echo(f"job {number} of {len(jobs)}: {job.label}")
            metrics, failed = self._run_job(job, run)
            rows.append({**asdict(job), "failed": failed, "metrics": metrics})
        return {
            "sweep": self.sweep.model_dump(),
            "axes": self.sweep.axes,
            "metric": self.sweep.metric or self.parameters["select_by"],
            "losses": self.losses,
            "baseline": self.baseline,
            "dataset": self.parameters["dataset"],
            "recipe": self.parameters["recipe"]["name"],
            "jobs": rows,
        }

    def _run_job(self, job: SweepJob, run: Run) -> tuple[dict[str, Any], str]:
        """By loss and seed: the metrics; and why the job failed, if it did."""
        names = {f"{namespace(loss)}_metrics": loss for loss in job.losses}
        part = RunPart({"sweep": self.sweep.name, "point": job.label}, frozenset(names))
        failed = ""
        with running(part):
            try:
                run(self.job_params(job), "modelling")
            except Exception as error:
                if disk_error(error):
                    raise
                failed = _reason(error)
                click.echo(f"Error: {job.label}: {failed}", err=True)
        return {names[name]: metrics["seeds"] for name, metrics in part.datasets.items()}, failed


@dataclass(frozen=True)
class JobPlan:
    """What a job has to train: losses by name, each with so many seeds; seconds of one where known."""

    job: SweepJob
    stale: list[str]
    seeds: int
    seconds: dict[str, float]


def plan_jobs(
    sweep: SweepRun, jobs: Sequence[SweepJob], project: Path, options: Mapping[str, Any]
) -> list[JobPlan]:
    """The stale trainings of every job; a loss is expected to take as long as in another job."""
    plans, seconds = [], dict[str, float]()
    for job in jobs:
        params = sweep.job_params(job)
        checked = sweep.check(params)
        catalog = open_catalog(project, options, params)  # and fits the pipelines to the job
        plan = RunPlan(pipelines["modelling"], catalog, fresh=options["fresh"])
        stale = [
            name.removesuffix("_loss_model")
            for node, reason in plan.stale_nodes.items()
            for name in node.outputs
            if reason and name.endswith("_loss_model")
        ]
        for loss in {*job.losses, *stale}:  # jobs on other data have folders of their own
            seconds[loss] = seconds.get(loss) or _last_training(catalog, loss)
        plans.append(JobPlan(job, stale, checked["num_seeds"], {}))
    known = {loss: value for loss, value in seconds.items() if value}
    return [replace(plan, seconds=known) for plan in plans]


def list_jobs(plans: Sequence[JobPlan], workers: int) -> list[dict[str, str]]:
    """A row per job: losses, trainings that are missing, time."""
    return [
        {
            "job": plan.job.label,
            "losses": ", ".join(plan.job.losses),
            "to train": ", ".join(plan.stale) or "current",
            "time": describe_time([plan], workers),
        }
        for plan in plans
    ]


def describe_time(plans: Sequence[JobPlan], workers: int) -> str:
    """The time of all trainings; ``unknown`` where a loss was never trained."""
    trainings = [(loss, plan.seconds, plan.seeds) for plan in plans for loss in plan.stale]
    if not trainings:
        return "none"
    if any(loss not in seconds for loss, seconds, _ in trainings):
        return "unknown"
    total = sum(seconds[loss] * seeds for loss, seconds, seeds in trainings) / workers
    return f"about {total / 60:.0f} min" if total >= 90 else f"about {total:.0f} s"


def workers_of(parameters: Parameters, asked: int | None) -> int:
    """Trainings at a time."""
    from losslab.parameters import TrainingSettings

    training = TrainingSettings.model_validate(parameters["recipe"]["training"])
    return asked or default_workers(training)


def refuse_small_labels(undersample: Mapping[str, Any] | None, counts: Mapping[str, int]) -> None:
    """Raise ParameterError if a label has too few training documents to be cut as asked."""
    if undersample is None or not counts:
        return
    labels = set(counts if undersample["labels"] is None else undersample["labels"])
    for label in sorted((labels & set(counts)) - set(undersample["keep"])):
        documents = counts[label]
        if undersample["size"] and documents < undersample["size"]:
            asked = f"undersample.size {undersample['size']} removes none"
        elif undersample["ratio"] and documents < undersample["ratio"]:
            asked = f"undersample.ratio {undersample['ratio']:g} leaves less than one"
        else:
            continue
        raise ParameterError(f"label '{label}' has {documents} training documents: {asked}")


def open_catalog(project: Path, options: Mapping[str, Any], params: Parameters) -> DataCatalog:
    """The catalog of a run with these parameters."""
    session = KedroSession.create(
        project, env=options["env"], conf_source=options["conf_source"], runtime_params=params
    )
    with session:
        context: Any = session.load_context()
        catalog: DataCatalog = context._get_catalog(save_version=session.session_id)
        return catalog


def save_results(
    name: str,
    results: dict[str, Any],
    given: Parameters,
    project: Path,
    options: Mapping[str, Any],
) -> str:
    """Save what all jobs gave as the dataset ``name``; the version."""
    dataset: Any = open_catalog(project, options, given).get(name)
    dataset.save(results)
    return str(dataset.resolve_save_version())


@contextmanager
def running(part: RunPart) -> Iterator[None]:
    """Tell the hooks that runs within the block are a part of the command."""
    meta = click.get_current_context().meta
    meta[PART] = part
    try:
        yield
    finally:
        meta[PART] = None


def _last_training(catalog: DataCatalog, loss: str) -> float:
    """Seconds of the newest saved training of a loss, mean over seeds; 0 where there is none."""
    try:
        history: pd.DataFrame = catalog.get(f"{namespace(loss)}_history").load()  # type: ignore[union-attr]
    except DatasetError:
        return 0.0
    return float(history.groupby("seed")["train_seconds"].max().mean())


def _reason(error: Exception) -> str:
    if isinstance(error, LosslabError | DatasetError | click.ClickException):
        return " ".join(str(error).split())
    logger.error("a job failed", exc_info=error)
    return f"{type(error).__name__}: {error}"
