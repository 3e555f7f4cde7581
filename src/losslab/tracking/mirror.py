"""A nested MLflow run per loss and seed, live while it trains."""

import logging
from collections.abc import Callable, Iterable, Mapping
from io import BytesIO
from pathlib import Path
from time import monotonic, time
from typing import Any

from mlflow.entities import Metric, Param, RunTag
from mlflow.tracking import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID
from mlflow.utils.validation import MAX_PARAM_VAL_LENGTH

from losslab.evaluation.conditions import flatten
from losslab.tracking.provenance import still_runs

logger = logging.getLogger(__name__)
SECONDS_BETWEEN_WRITES = 1.0
MLFLOW_RUN_COLOR = "mlflow.runColor"
PROCESS_TAG = "mlflow.losslab.process"  # MLflow's pages hide tags that begin so


class TrainingRuns:
    """The child runs of one parent.

    A server that fails must not cost a training: the first failure turns the mirror off with a
    warning, and the run goes on.
    """

    def __init__(
        self,
        client: MlflowClient,
        experiment: str,
        parent: str,
        *,
        tags: Mapping[str, str],
        colours: Mapping[str, str] | None = None,
    ) -> None:
        self._client, self._experiment, self._parent = client, experiment, parent
        self._tags, self._colours = dict(tags), dict(colours or {})
        self._open: dict[tuple[str, int], str] = {}
        self._waiting: dict[str, list[Metric]] = {}
        self._trained_until: dict[str, int] = {}
        self._written = monotonic()
        self.works = True

    def start(self, loss: str, seed: int, parameters: Mapping[str, Any]) -> None:
        """Open the run of a training, unless it is open."""
        if (loss, seed) not in self._open:
            self.attempt(self._create, loss, seed, parameters)

    def log(self, loss: str, seed: int, step: int, figures: Mapping[str, float]) -> None:
        """Add figures of an epoch, or of step 0 when it is over; written at most once a second."""
        run = self._open.get((loss, seed))
        if run is None:
            return
        now = int(time() * 1000)
        if step > 0:
            self._trained_until[run] = now
        self._waiting.setdefault(run, []).extend(
            Metric(name, float(value), now, step) for name, value in figures.items()
        )
        if monotonic() - self._written > SECONDS_BETWEEN_WRITES:
            self.write()

    def keep_file(self, file: Path, training: tuple[str, int] | None = None) -> None:
        """Copy a file to the artifacts of a training, or of the parent."""
        run = self._open.get(training) if training else self._parent
        if run is not None:
            self.attempt(self._client.log_artifact, run, str(file))

    def keep_pictures(
        self, pictures: Mapping[str, bytes], training: tuple[str, int] | None = None
    ) -> None:
        """Keep PNG pictures with a training, or with the parent.

        They lie at the top, where MLflow's compare view puts those of the same name side by side.
        """
        from PIL import Image

        run = self._open.get(training) if training else self._parent
        for name, picture in pictures.items() if run else ():
            image = Image.open(BytesIO(picture))
            self.attempt(self._client.log_image, run, image, artifact_file=f"{name}.png")

    def finish(self, loss: str, seed: int, status: str) -> None:
        """Write what waits and close the run of a training; its duration is that of the epochs."""
        self.write()
        run = self._open.pop((loss, seed), None)
        if run is not None:
            self.conclude(self._client.set_terminated, run, status, self._trained_until.get(run))

    def finish_all(self, status: str) -> None:
        """Close every run that is open."""
        for loss, seed in list(self._open):
            self.finish(loss, seed, status)

    def conclude(self, call: Callable[..., Any], *arguments: Any) -> None:
        """Tell MLflow how a run ended, even where something else failed before."""
        try:
            call(*arguments)
        except Exception as error:  # noqa: BLE001
            logger.warning("MLflow could not be told how a run ended: %s", error)

    def write(self) -> None:
        """Send the figures that wait."""
        waiting, self._waiting = self._waiting, {}
        self._written = monotonic()
        for run, metrics in waiting.items():
            for start in range(0, len(metrics), 1000):
                self.attempt(self._client.log_batch, run, metrics=metrics[start : start + 1000])

    def attempt(self, call: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call MLflow; a failure is told once and ends the mirroring, not the training."""
        if not self.works:
            return None
        try:
            return call(*arguments, **options)
        except Exception as error:  # noqa: BLE001
            self.works = False
            logger.warning("MLflow failed, tracking is off for the rest of this run: %s", error)
            return None

    def _create(self, loss: str, seed: int, parameters: Mapping[str, Any]) -> None:
        own = {"loss": loss, "seed": str(seed), MLFLOW_PARENT_RUN_ID: self._parent}
        if loss in self._colours:
            own[MLFLOW_RUN_COLOR] = self._colours[loss]
        name = f"{loss}_loss seed {seed} ({self._tags['dataset']}, {self._tags['recipe']})"
        run = self._client.create_run(self._experiment, run_name=name, tags={**self._tags, **own})
        self._open[(loss, seed)] = run.info.run_id
        self._client.log_batch(run.info.run_id, params=as_params(parameters))

    def describe_parent(self, parameters: Mapping[str, Any], drop: Iterable[str] = ()) -> None:
        """Give the parent the tags its children have and the parameters they share."""
        tags = [RunTag(name, value) for name, value in self._tags.items()]
        self.attempt(self._client.log_batch, self._parent, params=as_params(parameters), tags=tags)
        for name in drop:
            self.attempt(self._client.delete_tag, self._parent, name)

    def end_orphans(self) -> None:
        """Mark runs as killed whose process died without a word."""
        running = self.attempt(
            self._client.search_runs,
            [self._experiment],
            "attributes.status = 'RUNNING'",
            max_results=1000,
        )
        for run in running or ():
            process = run.data.tags.get(PROCESS_TAG)
            if process is not None and not still_runs(process):
                self.attempt(self._client.set_terminated, run.info.run_id, "KILLED")


def as_params(parameters: Mapping[str, Any]) -> list[Param]:
    """Parameters as MLflow takes them, names flattened, values cut to its limit."""
    return [
        Param(name, str(value)[:MAX_PARAM_VAL_LENGTH])
        for name, value in flatten(parameters).items()
    ]
