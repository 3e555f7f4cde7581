"""A parent run, and below it an MLflow run per loss and seed, live while it trains."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from time import time
from typing import Any

import pandas as pd
from mlflow.utils.validation import MAX_PARAM_VAL_LENGTH, MAX_TAG_VAL_LENGTH

from losslab.data.csv_cells import TEXTS_IN_QUOTES, quote_formulas
from losslab.parameters import namespace
from losslab.parameters.variants import flatten
from losslab.tracking.journal import Operation

RUN_COLOUR_TAG = "mlflow.runColor"
FAILURE_TAG = "failure"
CURRENT_TAG = "current"
MADE_BY_TAG = "made_by"
"""The Kedro session that computed what is current: ``kedro prune`` keeps its results."""
PARENT = "parent"
EVERY_EVALUATION = 20
"""So many evaluations of a training are charted, then ever fewer."""


class TrainingRuns:
    """The runs of one ``kedro run``: each method puts operations and returns at once.

    Args:
        put: takes the operations, in order.
        tags: tags of the parent and of every child; ``dataset`` and ``recipe`` name the children.
        colours: the colour of a loss in MLflow's charts.
    """

    def __init__(
        self,
        put: Callable[[Operation], None],
        *,
        tags: Mapping[str, str],
        colours: Mapping[str, str] | None = None,
    ) -> None:
        self._put, self._tags, self._colours = put, dict(tags), dict(colours or {})
        self._started: dict[tuple[str, int], str] = {}
        self._open: set[tuple[str, int]] = set()
        self._last_epoch_at: dict[tuple[str, int], int] = {}
        self._uncharted: dict[tuple[str, int], list[list[Any]]] = {}
        self._dataset: dict[str, str] = {}

    def use_dataset(self, name: str, digest: str, *, source: str, facts: Mapping[str, Any]) -> None:
        """Note the dataset as the input of the parent and of every run, started before or later."""
        where = {"source_type": "local", "source": json.dumps({"uri": source})}
        self._dataset = {"name": name, "digest": digest, **where, "profile": json.dumps(facts)}
        for key in (PARENT, *self._started.values()):
            self._put({"do": "input", "run": key, "dataset": self._dataset})

    def open_parent(self, name: str, tags: Mapping[str, Any]) -> None:
        """Create the parent run, with ``tags`` of its own."""
        self._create(PARENT, name, {**tags, **self._tags}, nested=False)

    def adopt_parent(self, run_id: str) -> None:
        """Take a run that exists as the parent."""
        self._put({"do": "adopt", "run": PARENT, "run_id": run_id})
        self.tag_parent(self._tags)

    def tag_parent(self, tags: Mapping[str, Any]) -> None:
        """Tag the parent."""
        self._log(PARENT, tags=as_tags(tags))

    def log_parent_params(self, parameters: Mapping[str, Any]) -> None:
        """Log parameters of the parent, names flattened."""
        if parameters:
            self._log(PARENT, params=as_params(parameters))

    def end_parent(self, status: str) -> None:
        """End the parent run."""
        self._end(PARENT, status, _now())

    def start(
        self, loss: str, seed: int, parameters: Mapping[str, Any], *, current: bool = False
    ) -> None:
        """Create the run of a training, unless this was done.

        Args:
            current: the training was done by an earlier ``kedro run``; a tag says so.
        """
        if (loss, seed) in self._started:
            return
        key = self._started[loss, seed] = f"{loss}/{seed}"
        self._open.add((loss, seed))
        tags = {**self._tags, "loss": loss, "seed": str(seed)}
        if loss in self._colours:
            tags[RUN_COLOUR_TAG] = self._colours[loss]
        if current:
            tags[CURRENT_TAG] = "true"
        name = f"{namespace(loss)} seed {seed} ({self._tags['dataset']}, {self._tags['recipe']})"
        self._create(key, name, tags, nested=True)
        self._log(key, params=as_params(parameters))
        if self._dataset:
            self._put({"do": "input", "run": key, "dataset": self._dataset})

    def add_trial(
        self,
        loss: str,
        seed: int,
        number: int,
        parameters: Mapping[str, Any],
        *,
        state: str,
        metrics: list[tuple[str, float, int]],
        tags: Mapping[str, str],
    ) -> None:
        """The run of a search's trial, which has ended; ``metrics`` with the step of each."""
        key, now = f"{loss}/trial {number}", _now()
        every = {**self._tags, "loss": loss, "seed": seed, "trial": number, **tags}
        where = f"{self._tags['dataset']}, {self._tags['recipe']}"
        self._create(key, f"{namespace(loss)} trial {number} ({where})", every, nested=True)
        self._log(key, params=as_params(parameters))
        points = [[name, value, now, step] for name, value, step in metrics]
        self._end(key, "FAILED" if state == "failed" else "FINISHED", now, points)

    def log_metrics(self, loss: str, seed: int, step: int, metrics: Mapping[str, float]) -> None:
        """Log metrics of an evaluation during training, or final ones (step 0).

        Of long trainings a part is charted, and the last one: to log each would cost a run a fifth
        of its time.
        """
        key, now = self._started.get((loss, seed)), _now()
        if key is None:
            return
        if step > 0:
            self._last_epoch_at[loss, seed] = now
        points = [[name, float(value), now, step] for name, value in metrics.items()]
        if is_charted(step):
            self._uncharted.pop((loss, seed), None)
            self._log(key, metrics=points)
        else:
            self._uncharted[loss, seed] = points

    def log_artifact(
        self, data: Any, file_name: str, training: tuple[str, int] | None = None
    ) -> None:
        """Keep a table, a dictionary or a text as an artifact of a training, or of the parent."""
        key = self._started.get(training) if training else PARENT
        if key is not None:
            self._put({"do": "artifact", "run": key, "text": as_text(data), "file": file_name})

    def log_model(
        self, loss: str, seed: int, folder: Path, *, register_as: str | None = None
    ) -> None:
        """Keep a folder, which is removed when it is sent, as the model of a training."""
        key = self._started.get((loss, seed))
        if key is not None:
            facts = {"folder": str(folder), "name": namespace(loss), "register_as": register_as}
            self._put({"do": "model", "run": key, **facts})

    def tag(self, loss: str, seed: int, tags: Mapping[str, str]) -> None:
        """Set tags of the run of a training."""
        key = self._started.get((loss, seed))
        if key is not None:
            self._log(key, tags=as_tags(tags))

    def finish(
        self, loss: str, seed: int, status: str, metrics: Mapping[str, float] | None = None
    ) -> None:
        """End the run of a training, with its last epoch; ``metrics`` and status come together."""
        if (loss, seed) in self._open:
            self._open.remove((loss, seed))
            now = _now()
            end_time = self._last_epoch_at.get((loss, seed)) or now
            points = [[name, float(value), now, 0] for name, value in (metrics or {}).items()]
            points += self._uncharted.pop((loss, seed), [])
            self._end(self._started[loss, seed], status, end_time, points)

    def finish_all(self, status: str) -> None:
        """End every child run that is open."""
        for loss, seed in sorted(self._open):
            self.finish(loss, seed, status)

    def fail(self, loss: str, reason: str) -> None:
        """Tag the runs of a loss with the reason, and end those that are open as FAILED."""
        for training, key in self._started.items():
            if training[0] == loss:
                self._log(key, tags=as_tags({FAILURE_TAG: reason}))
                self.finish(*training, "FAILED")

    def has_runs(self, loss: str) -> bool:
        """Whether a training of the loss was started."""
        return any(name == loss for name, _ in self._started)

    def _create(self, run: str, name: str, tags: Mapping[str, Any], *, nested: bool) -> None:
        facts = {"name": name, "tags": as_tags(tags), "start_time": _now(), "nested": nested}
        self._put({"do": "create", "run": run, **facts})

    def _log(self, run: str, **values: Any) -> None:
        self._put({"do": "log", "run": run, **values})

    def _end(
        self, run: str, status: str, end_time: int, metrics: list[list[Any]] | None = None
    ) -> None:
        ended = {"status": status, "end_time": end_time, "metrics": metrics or []}
        self._put({"do": "end", "run": run, **ended})


def is_charted(evaluation: int) -> bool:
    """Whether an evaluation is a point of MLflow's curves: all of the first, then ten per doubling.

    >>> [number for number in range(19, 100) if is_charted(number)]
    [19, 20, 22, 24, 26, 28, 30, 32, 34, 36, 38, 40, 44, 48, 52, 56, 60, 64, 68, 72, 76, 80, 88, 96]
    """
    every = 2 ** ((evaluation - 1) // EVERY_EVALUATION).bit_length() if evaluation > 0 else 1
    return evaluation % every == 0


def as_params(parameters: Mapping[str, Any]) -> dict[str, str]:
    """MLflow parameters: names flattened and of characters it takes, values cut to its limit.

    What is not set is left out.

    >>> as_params({"split": {"seed": 0, "folds": None}})
    {'split.seed': '0'}
    """
    return {
        re.sub(r"[^/\w.\- ]", "_", name): str(value)[:MAX_PARAM_VAL_LENGTH]
        for name, value in flatten(parameters).items()
        if value is not None
    }


def as_tags(tags: Mapping[str, Any]) -> dict[str, str]:
    """MLflow tags: values cut to its limit."""
    return {name: str(value)[:MAX_TAG_VAL_LENGTH] for name, value in tags.items()}


def as_text(data: Any) -> str:
    """A table as CSV, a text as it is, anything else as JSON."""
    if isinstance(data, pd.DataFrame):
        return str(quote_formulas(data).to_csv(index=False, **TEXTS_IN_QUOTES))
    return data if isinstance(data, str) else json.dumps(data, indent=2)


def _now() -> int:
    """Milliseconds, as MLflow counts."""
    return int(time() * 1000)
