"""A nested MLflow run per loss and seed, live while it trains."""

import json
from collections.abc import Mapping
from time import monotonic, time
from typing import Any

import pandas as pd
from mlflow.entities import Metric, Param, RunTag
from mlflow.tracking import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID
from mlflow.utils.validation import MAX_PARAM_VAL_LENGTH

from losslab.parameters.variants import flatten
from losslab.tracking.guard import MlflowGuard
from losslab.tracking.provenance import process_is_alive

SECONDS_BETWEEN_WRITES = 1.0
MAX_METRICS_PER_BATCH = 1000
RUN_COLOUR_TAG = "mlflow.runColor"
PROCESS_TAG = "mlflow.losslab.process"  # MLflow's pages hide tags that begin so


class TrainingRuns:
    """The child runs of one parent run, by loss and seed.

    Args:
        tags: tags of the parent and of every child; ``dataset`` and ``recipe`` name the children.
        colours: the colour of a loss in MLflow's charts.
        guard: keeps MLflow's failures away from the training.
    """

    def __init__(
        self,
        client: MlflowClient,
        experiment_id: str,
        parent_id: str,
        *,
        tags: Mapping[str, str],
        colours: Mapping[str, str] | None = None,
        guard: MlflowGuard | None = None,
    ) -> None:
        self._client, self._guard = client, guard or MlflowGuard()
        self.experiment_id, self.parent_id = experiment_id, parent_id
        self._tags, self._colours = dict(tags), dict(colours or {})
        self._open: dict[tuple[str, int], str] = {}
        self._buffer: dict[str, list[Metric]] = {}
        self._last_epoch_at: dict[str, int] = {}
        self._written_at = monotonic()

    def start(self, loss: str, seed: int, parameters: Mapping[str, Any]) -> None:
        """Open the run of a training, unless it is open."""
        if (loss, seed) not in self._open:
            self._guard.attempt(self._create, loss, seed, parameters)

    def log_metrics(self, loss: str, seed: int, step: int, metrics: Mapping[str, float]) -> None:
        """Log metrics of an evaluation during training, or final ones (step 0).

        They are buffered and written at most once a second.
        """
        run_id = self._open.get((loss, seed))
        if run_id is None:
            return
        now = int(time() * 1000)
        if step > 0:
            self._last_epoch_at[run_id] = now
        self._buffer.setdefault(run_id, []).extend(
            Metric(name, float(value), now, step) for name, value in metrics.items()
        )
        if monotonic() - self._written_at > SECONDS_BETWEEN_WRITES:
            self.flush()

    def log_artifact(
        self, data: Any, file_name: str, training: tuple[str, int] | None = None
    ) -> None:
        """Keep a table, a dictionary or a text as an artifact of a training, or of the parent."""
        run_id = self._open.get(training) if training else self.parent_id
        if run_id is not None:
            self._guard.attempt(self._write_artifact, run_id, data, file_name)

    def finish(self, loss: str, seed: int, status: str) -> None:
        """Flush and end the run of a training; it ends with its last epoch."""
        self.flush()
        run_id = self._open.pop((loss, seed), None)
        if run_id is not None:
            end_time = self._last_epoch_at.get(run_id)
            self._guard.set_status(self._client.set_terminated, run_id, status, end_time)

    def finish_all(self, status: str) -> None:
        """End every child run that is open."""
        for loss, seed in list(self._open):
            self.finish(loss, seed, status)

    def flush(self) -> None:
        """Write the buffered metrics."""
        buffer, self._buffer = self._buffer, {}
        self._written_at = monotonic()
        for run_id, metrics in buffer.items():
            for start in range(0, len(metrics), MAX_METRICS_PER_BATCH):
                batch = metrics[start : start + MAX_METRICS_PER_BATCH]
                self._guard.attempt(self._client.log_batch, run_id, metrics=batch)

    def tag_parent(self, **more: str) -> None:
        """Give the parent the tags of its children and ``more``."""
        tags = [RunTag(name, value) for name, value in {**self._tags, **more}.items()]
        self._guard.attempt(self._client.log_batch, self.parent_id, tags=tags)

    def log_parent_params(self, parameters: Mapping[str, Any]) -> None:
        """Log parameters of the parent, names flattened."""
        self._guard.attempt(self._client.log_batch, self.parent_id, params=as_params(parameters))

    def end_orphans(self) -> None:
        """Mark runs as KILLED that are RUNNING though their process is gone."""
        running = self._guard.attempt(
            self._client.search_runs,
            [self.experiment_id],
            "attributes.status = 'RUNNING'",
            max_results=1000,
        )
        for run in running or ():
            process = run.data.tags.get(PROCESS_TAG)
            if process is not None and not process_is_alive(process):
                self._guard.attempt(self._client.set_terminated, run.info.run_id, "KILLED")

    def _write_artifact(self, run_id: str, data: Any, file_name: str) -> None:
        self._client.log_text(run_id, as_text(data), file_name)

    def _create(self, loss: str, seed: int, parameters: Mapping[str, Any]) -> None:
        tags = {**self._tags, "loss": loss, "seed": str(seed), MLFLOW_PARENT_RUN_ID: self.parent_id}
        if loss in self._colours:
            tags[RUN_COLOUR_TAG] = self._colours[loss]
        name = f"{loss}_loss seed {seed} ({self._tags['dataset']}, {self._tags['recipe']})"
        run = self._client.create_run(self.experiment_id, run_name=name, tags=tags)
        self._open[(loss, seed)] = run.info.run_id
        self._client.log_batch(run.info.run_id, params=as_params(parameters))


def as_params(parameters: Mapping[str, Any]) -> list[Param]:
    """MLflow parameters: names flattened, values cut to MLflow's limit."""
    return [
        Param(name, str(value)[:MAX_PARAM_VAL_LENGTH])
        for name, value in flatten(parameters).items()
    ]


def as_text(data: Any) -> str:
    """A table as CSV, a text as it is, anything else as JSON."""
    if isinstance(data, pd.DataFrame):
        return str(data.to_csv(index=False))
    return data if isinstance(data, str) else json.dumps(data, indent=2)
