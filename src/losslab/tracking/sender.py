"""What is done in MLflow, as data, and the one who does it.

An operation is a dictionary of JSON values. It names its run by a key of ours, ``parent`` or
``db/1``: the run's id is known when it is created, maybe by a later process.

- ``create``: ``run``, ``name``, ``start_time``, ``tags``, ``nested``
- ``adopt``: ``run``, ``run_id``: a run that exists
- ``log``: ``run``, ``params``, ``tags``, ``metrics`` (name, value, timestamp, step)
- ``artifact``: ``run``, ``text``, ``file``
- ``model``: ``run``, ``name``, ``folder`` (removed when it is sent), ``register_as``
- ``input``: ``run``, ``dataset`` (name, digest, source_type, source, profile)
- ``end``: ``run``, ``status``, ``end_time``, ``metrics`` that a run has only if it ended so
- ``send_earlier``: send what earlier runs left in their journals
- ``tidy``: mark orphans as KILLED, save the experiment's view
"""

import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from mlflow.entities import (
    Dataset,
    DatasetInput,
    InputTag,
    LoggedModelOutput,
    LoggedModelStatus,
    Metric,
    Param,
    Run,
    RunTag,
)
from mlflow.exceptions import MlflowException
from mlflow.tracking import MlflowClient
from mlflow.utils.mlflow_tags import MLFLOW_DATASET_CONTEXT, MLFLOW_PARENT_RUN_ID

from losslab.tracking.journal import Journal, Operation, read_header
from losslab.tracking.outbox import RefusedError, send_journal
from losslab.tracking.provenance import process_is_alive
from losslab.tracking.view import save_view

logger = logging.getLogger(__name__)
logging.getLogger("mlflow.store.db.utils").setLevel(logging.CRITICAL)  # a traceback per attempt
PROCESS_TAG = "mlflow.losslab.process"  # MLflow's pages hide tags that begin so
KEY_TAG = "mlflow.losslab.key"
REFUSALS = {
    "BAD_REQUEST",
    "INVALID_PARAMETER_VALUE",
    "INVALID_STATE",
    "NOT_IMPLEMENTED",
    "RESOURCE_ALREADY_EXISTS",
    "RESOURCE_DOES_NOT_EXIST",
}
"""Error codes that another attempt does not change; a missing permission may be given later."""


class MlflowSender:
    """Sends the operations of one ``kedro run`` to the server that its header names.

    Args:
        uri: the tracking server, with credentials if it takes them so.
        header: of the run's journal: ``id``, ``experiment``, ``artifact_location``.
        folder: where journals of earlier runs lie; None: those are not this sender's task.
        ids: of runs that an earlier process created.

    Attributes:
        experiment_id: known once the server has answered.
        on_sent: called after each request that belongs to an earlier run, or is one of a model's.
    """

    def __init__(
        self,
        uri: str,
        header: Mapping[str, Any],
        folder: Path | None = None,
        ids: Mapping[str, str] | None = None,
    ) -> None:
        self._uri, self._header, self._folder = uri, header, folder
        self._ids = dict(ids or {})
        self._tried_before: set[str] = set()
        self.experiment_id: str | None = None
        self.on_sent: Callable[[], None] = lambda: None

    def send(self, batch: Sequence[Operation], *, again: bool) -> dict[str, str]:
        """Send operations that belong together: one, or several ``log`` and the ``end`` after them."""
        known = set(self._ids)
        try:
            self._do(batch, again=again)
        except MlflowException as error:
            if error.error_code in REFUSALS:
                raise RefusedError(str(error)) from error
            raise
        except (TypeError, KeyError) as error:  # a file that was changed by hand
            raise RefusedError(f"{batch[0]}: {error!r}") from error
        return {run: run_id for run, run_id in self._ids.items() if run not in known}

    def _do(self, batch: Sequence[Operation], *, again: bool) -> None:
        first = batch[0]
        match first["do"]:
            case "create":
                self._create(first, again=again)
            case "adopt":
                self._ids[first["run"]] = first["run_id"]
            case "log":
                for run in dict.fromkeys(one["run"] for one in batch):  # a request for each
                    self._log(run, [one for one in batch if one["run"] == run])
                if batch[-1]["do"] == "end":
                    self._end(batch[-1])
            case "artifact":
                self._client.log_text(self._id(first["run"]), first["text"], first["file"])
            case "model":
                self._log_model(first)
            case "input":
                self._add_input(first)
            case "end":
                if first.get("metrics"):
                    self._log(first["run"], [first])
                self._end(first)
            case "send_earlier" | "tidy" if self._folder is None:
                pass
            case "send_earlier":
                self._send_earlier()
            case "tidy":
                self._end_orphans()
                save_view(self._client, self._experiment())
            case unknown:
                raise RefusedError(f"no operation is called {unknown}")

    def known_id(self, run: str) -> str | None:
        """The id of a run, if this process knows it."""
        return self._ids.get(run)

    @cached_property
    def _client(self) -> MlflowClient:
        return MlflowClient(self._uri)  # opens the store: not before the thread needs it

    def _experiment(self) -> str:
        """The id of the header's experiment; created where there is none."""
        if self.experiment_id is None:
            self.experiment_id = self._find_experiment() or self._create_experiment()
        return self.experiment_id

    def _find_experiment(self) -> str | None:
        experiment = self._client.get_experiment_by_name(self._header["experiment"])
        return experiment.experiment_id if experiment else None

    def _create_experiment(self) -> str:
        name, location = self._header["experiment"], self._header["artifact_location"]
        try:
            return self._client.create_experiment(name, location)
        except MlflowException:
            other = self._find_experiment()  # a run that started at the same time was quicker
            if other is None:
                raise
            return other

    def _create(self, operation: Operation, *, again: bool) -> None:
        run = operation["run"]
        if again:
            self._tried_before.add(run)
            if self._find(run):  # the answer to an earlier attempt was lost
                return
        tags = {**operation["tags"], KEY_TAG: self._key(run)}
        if operation["nested"]:
            tags[MLFLOW_PARENT_RUN_ID] = self._id("parent")
        created = self._client.create_run(
            self._experiment(), operation["start_time"], tags, operation["name"]
        )
        self._ids[run] = created.info.run_id

    def _end(self, operation: Operation) -> None:
        run = operation["run"]
        self._client.set_terminated(self._id(run), operation["status"], operation["end_time"])
        if run in self._tried_before:  # a server that hung may have done what it was asked later
            for one in self._search(run):
                if one.info.run_id != self._ids[run]:
                    self._client.delete_run(one.info.run_id)

    def _log(self, run: str, batch: Sequence[Operation]) -> None:
        self._client.log_batch(
            self._id(run),
            metrics=[Metric(*metric) for one in batch for metric in one.get("metrics", ())],
            params=[Param(*item) for one in batch for item in one.get("params", {}).items()],
            tags=[RunTag(*item) for one in batch for item in one.get("tags", {}).items()],
        )

    def _log_model(self, operation: Operation) -> None:
        """Keep a folder as a logged model of a run; register it if that is asked for."""
        run_id, folder = self._id(operation["run"]), Path(operation["folder"])
        if not folder.is_dir():
            raise RefusedError(f"the model in {folder} is gone")
        model = self._client.create_logged_model(
            self._experiment(), operation["name"], source_run_id=run_id
        )
        self.on_sent()
        self._client.log_model_artifacts(model.model_id, str(folder))
        self.on_sent()
        self._client.finalize_logged_model(model.model_id, LoggedModelStatus.READY)
        self._client.log_outputs(run_id, [LoggedModelOutput(model.model_id, step=0)])
        self.on_sent()
        if operation["register_as"]:
            self._register(operation["register_as"], model.model_id, run_id)
        shutil.rmtree(folder, ignore_errors=True)

    def _register(self, name: str, model_id: str, run_id: str) -> None:
        """A new version of a registered model."""
        with suppress(MlflowException):  # it exists
            self._client.create_registered_model(name)
        source = f"models:/{model_id}"
        self._client.create_model_version(name, source, run_id, model_id=model_id)

    def _add_input(self, operation: Operation) -> None:
        """The dataset a run was trained with; MLflow keeps one that it has as it is."""
        context = [InputTag(MLFLOW_DATASET_CONTEXT, "training")]
        dataset = DatasetInput(Dataset(**operation["dataset"]), context)
        self._client.log_inputs(self._id(operation["run"]), datasets=[dataset])

    def _id(self, run: str) -> str:
        if run not in self._ids:
            raise RefusedError(f"there is no run {run}")
        return self._ids[run]

    def _find(self, run: str) -> str | None:
        """The id of a run that an earlier attempt created."""
        for one in self._search(run):
            self._ids[run] = one.info.run_id
        return self._ids.get(run)

    def _search(self, run: str) -> Sequence[Run]:
        key = f"tags.`{KEY_TAG}` = '{self._key(run)}'"
        return cast(Sequence[Run], self._client.search_runs([self._experiment()], key))

    def _key(self, run: str) -> str:
        return f"{self._header['id']}/{run}"

    def _send_earlier(self) -> None:
        """Send what earlier runs left for this server, until one fails."""
        for file in self._journals():
            try:
                journal = Journal.take(file)
            except (OSError, ValueError, TypeError, KeyError) as error:
                logger.warning("%s cannot be read, MLflow misses what it holds: %s", file, error)
                continue
            if journal is None:
                continue
            sender = MlflowSender(self._uri, journal.header, ids=journal.ids)
            if not send_journal(journal, sender, self.on_sent):
                return

    def _end_orphans(self) -> None:
        """Mark runs as KILLED that are RUNNING though their process and its journal are gone."""
        waiting = {read_header(file).get("process") for file in self._journals()}
        running = self._client.search_runs(
            [self._experiment()], "attributes.status = 'RUNNING'", max_results=1000
        )
        for run in running:
            process = run.data.tags.get(PROCESS_TAG)
            if process and process not in waiting and not process_is_alive(process):
                self._client.set_terminated(run.info.run_id, "KILLED")

    def _journals(self) -> list[Path]:
        """Files of other runs for the same server, oldest first."""
        files = sorted(self._folder.glob("*.jsonl")) if self._folder else []
        headers = {file: read_header(file) for file in files}
        uri, own = self._header["tracking_uri"], self._header["id"]
        return [
            file
            for file, header in headers.items()  # one that was cut off is nobody's
            if header.get("tracking_uri", uri) == uri and header.get("id") != own
        ]


def without_credentials(uri: str) -> str:
    """The address of a server without a user's name and password.

    >>> without_credentials("https://me:secret@mlflow.example/x")
    'https://mlflow.example/x'
    """
    scheme, mark, rest = uri.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}"
