"""Mirrors a run to MLflow, beside kedro-mlflow's own hook."""

import atexit
import hashlib
import json
import logging
import os
import signal
import sys
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from typing import Any, cast
from uuid import uuid4

import mlflow
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline
from kedro.pipeline.node import Node
from kedro_mlflow.config.kedro_mlflow_config import (
    KedroMlflowConfig,
    RunOptions,
    _validate_uri,
)
from kedro_mlflow.framework.hooks import mlflow_hook
from mlflow.tracking.context.registry import resolve_tags
from pydantic import BaseModel

from losslab.baselines import METHODS
from losslab.datasets.checked import Checked
from losslab.errors import Failure, NotApplicableError, Skipped
from losslab.evaluation import describe_training, own_results
from losslab.hooks.parts import current_part
from losslab.losses import LOSSES
from losslab.parameters import LossSettings, namespace
from losslab.pipelines.predict import assemble
from losslab.tracking import (
    CURRENT_TAG,
    FAILURE_TAG,
    MADE_BY_TAG,
    PARENT,
    PROCESS_TAG,
    Journal,
    MlflowGuard,
    MlflowSender,
    Outbox,
    TrainingRuns,
    describe_command,
    describe_process,
    describe_source,
    view_address,
    without_credentials,
)
from losslab.training.events import Event, TrainingEnded, TrainingStarted, TrialEnded, listening

METRICS = {f"{namespace(method)}_metrics": method for method in METHODS}
"""Datasets that hold the metrics of a loss or baseline."""
ARTIFACTS = {
    "report_page": "report.html",
    "comparison": "comparison.csv",
    "uncertainty": "uncertainty.json",
    "corpus_table": "corpus_table.csv",
    "diagnosis": "diagnosis.json",
    "cross_validation_page": "cross_validation.html",
    "fold_comparison": "fold_comparison.csv",
    "retrieval_page": "report.html",
    "retrieval_comparison": "retrieval.csv",
    "search_page": "search.html",
    "search_table": "search.csv",
    "best_settings": "best.yml",
    "sweep_page": "sweep.html",
    "sweep_table": "sweep.csv",
}
"""Datasets that the parent run keeps; the page holds every figure."""
MIRRORED = ("label_statistics", "data_fingerprint")
"""Datasets that parameters and inputs of runs are made of."""
RAW_FILES = "data/01_raw"
SEARCHES = {f"{namespace(loss)}_search" for loss in LOSSES}
"""Datasets that hold the trials of a loss."""
REPEATED = ("features", "frozen_encoder", "bootstrap")
"""Parameters that are parts of recipe and report."""
NOT_OF_A_TRAINING = {
    *REPEATED,
    *("sweep", "search", "losses", "baselines", "report", "predict", "mlflow"),
}
"""Parameters that the run of a training has not; the parent run has those of its nodes."""
OUTBOX = "data/.mlflow_outbox"
"""Where operations for MLflow wait, below the project's folder."""
MLFLOW_DEFAULTS = {
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",  # the outbox tries again by itself
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "5",  # seconds: the plugin's requests hold the run up
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",  # for each run, in the midst of the log
}
"""Environment variables of MLflow, unless a user has set them."""
SECONDS_FOR_PARENT = 6.0
Wrapper = Generator[None, Any, Any]
logger = logging.getLogger(__name__)


class Tracking:
    """Child runs per loss and seed below a parent run; MLflow neither fails nor delays the run.

    What MLflow is to know goes through an :class:`Outbox`. kedro-mlflow's hook stays registered: it
    reads ``mlflow.yml``, and takes the parent run as the active one, for datasets that log to it.
    The hooks here wrap it. When it fails, it is switched off by its own option
    ``disable_tracking``; the outbox goes on.
    """

    def __init__(self) -> None:
        self._guard = MlflowGuard()
        self._config: KedroMlflowConfig | None = None
        self._sender: MlflowSender | None = None
        self._outbox: Outbox | None = None
        self._runs: TrainingRuns | None = None
        self._owns_parent = False
        self._unsent = 0
        self._failed: set[str] = set()
        self._evaluated: list[str] = []
        self._label_statistics: dict[str, Any] = {}
        self._pipeline = Pipeline([])
        self._logged_params: set[str] = set()
        self._event_listener = ExitStack()

    @hook_impl(wrapper=True)
    def after_context_created(self, context: KedroContext) -> Wrapper:
        """Guard the plugin's setup of MLflow."""
        self._kill()  # what an interrupted run of the same process left open
        for name, value in MLFLOW_DEFAULTS.items():
            os.environ.setdefault(name, value)
        self._context: Any = context  # kedro-mlflow adds ``mlflow``, its configuration
        self._parameters = context.config_loader["parameters"]
        self._opened_by_user = mlflow.active_run() is not None
        self._guard = MlflowGuard()
        with self._guard:
            return (yield)

    @hook_impl(wrapper=True)
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog
    ) -> Wrapper:
        """Open the parent run, let the plugin make it the active one, listen to trainings."""
        self._catalog, self._label_statistics, self._logged_params = catalog, {}, set()
        self._pipeline = pipeline
        self._sender, self._unsent, self._failed, self._evaluated = None, 0, set(), []
        self._guard.on_failure = partial(_disable_plugin, run_params, pipeline, catalog)
        self._config = _mlflow_config(self._context)
        if not self._open(run_params):
            self._guard.on_failure()
        results = None
        with self._guard:
            results = yield
        if self._runs is not None:  # the plugin's command leaves out --params and --env
            self._runs.tag_parent({"kedro_command": describe_command()})
        return results

    @hook_impl(wrapper=True)
    def before_node_run(self, inputs: dict[str, Any]) -> Wrapper:
        """Log each parameter once, and keep it from the plugin, which would wait for the server.

        ``inputs`` is Kedro's copy for the hooks: the node's own inputs stay as they are.
        """
        self._log_params({name: inputs.pop(name) for name in list(inputs) if _is_parameter(name)})
        with self._guard:
            return (yield)

    @hook_impl
    def after_dataset_saved(self, dataset_name: str, data: Any) -> None:
        """Mirror what was saved: metrics of a loss to its runs, the report to the parent."""
        self.mirror(dataset_name, data, current=False)

    @hook_impl
    def on_node_error(self, error: Exception, node: Node) -> None:
        """Fail the runs of the node's loss, and no others: the runner may go on with them."""
        if not isinstance(error, NotApplicableError):
            self._fail_losses(node, str(error))

    @hook_impl
    def node_failed(self, node: Node, failure: Failure) -> None:
        """Fail the runs of a loss that lacks what a failed node would have made, too."""
        if not isinstance(failure, Skipped):
            self._fail_losses(node, f"{failure.node}: {failure.reason}")

    def _fail_losses(self, node: Node, reason: str) -> None:
        for loss in METHODS:
            if namespace(loss) in node.tags and loss not in self._failed:
                self._failed.add(loss)
                self.fail_loss(loss, reason)

    @hook_impl
    def node_is_current(self, node: Node, catalog: DataCatalog) -> None:
        """Mirror results of an earlier run that are current, too."""
        if self._runs is None:
            return
        self._log_params({name: catalog.load(name) for name in node.inputs if _is_parameter(name)})
        self._mirror_outputs(node, catalog, current=True)
        for name in SEARCHES & set(node.outputs):
            found = catalog.load(name)
            for trial in found["trials"]:
                self._on_event(_trial_of(found, trial))

    @hook_impl
    def node_computed(self, node: Node, catalog: DataCatalog) -> None:
        """Mirror results that a worker has saved."""
        self._mirror_outputs(node, catalog, current=False)

    def _mirror_outputs(self, node: Node, catalog: DataCatalog, *, current: bool) -> None:
        for name in {*METRICS, *ARTIFACTS, *MIRRORED} & set(node.outputs):
            self.mirror(name, catalog.load(name), current=current)

    @hook_impl(wrapper=True)
    def after_pipeline_run(self) -> Wrapper:
        """End every run as FINISHED."""
        return (yield from self._end("FINISHED"))

    @hook_impl(wrapper=True)
    def on_pipeline_error(self) -> Wrapper:
        """End every open run as FAILED."""
        return (yield from self._end("FAILED"))

    def mirror(self, dataset_name: str, data: Any, *, current: bool) -> None:
        """Log a dataset that MLflow keeps; any other is ignored.

        Args:
            current: an earlier run computed it; the runs of its loss are tagged ``current``.
        """
        if self._runs is None:
            return
        try:
            self._mirror(self._runs, dataset_name, data, current=current)
        except Exception as error:  # noqa: BLE001
            self._guard.warn(error)

    def fail_loss(self, loss: str, reason: str) -> None:
        """Mark the runs of a loss as FAILED with the reason; one that never trained gets a run."""
        if self._runs is None:
            return
        if not self._runs.has_runs(loss):
            seed = self._parameters["seed"]
            self._runs.start(loss, seed, self._training_params(loss, seed))
        self._runs.fail(loss, reason)

    def how_to_open(self) -> str:
        """What to type or click to see the runs."""
        if self._config is None or self._sender is None:
            return "not tracked"
        if self._unsent or self._sender.experiment_id is None:
            return f"MLflow failed; the next run sends it what it misses ({OUTBOX})"
        server, ui = self._config.server.mlflow_tracking_uri, self._config.ui
        view = view_address(self._sender.experiment_id)
        if server.startswith("http"):
            return f"{server}{view}"
        return f"kedro mlflow ui, then http://{ui.host}:{ui.port}{view}"

    def _open(self, run_params: Mapping[str, Any]) -> bool:
        """Start to mirror this run, unless mlflow.yml excludes it; whether the plugin can go on."""
        names = run_params["pipeline_names"] or ["__default__"]
        if self._config is None:
            return False
        if set(names) <= set(self._config.tracking.disable_tracking.pipelines or ()):
            return True
        self._outbox, self._sender = self._start_outbox(self._config)
        self._runs = TrainingRuns(
            self._outbox.put, tags=self._tags(run_params), colours=_loss_colours()
        )
        self._open_parent(self._runs, self._config.tracking.run, run_params)
        usable = self._guard.works and self._outbox.flush(SECONDS_FOR_PARENT)
        self._config.tracking.run.id = self._sender.known_id(PARENT)
        for task in ("send_earlier", "tidy"):
            self._outbox.put({"do": task})
        self._event_listener.enter_context(listening(self._on_event))
        atexit.register(self._kill)
        _exit_on_sigterm()
        return usable

    def _start_outbox(self, config: KedroMlflowConfig) -> tuple[Outbox, MlflowSender]:
        uri, experiment = config.server.mlflow_tracking_uri, config.tracking.experiment
        folder = self._context.project_path / OUTBOX
        header = {
            "tracking_uri": without_credentials(uri),
            "experiment": experiment.name,
            "artifact_location": experiment.create_experiment_kwargs.artifact_location,
            "process": describe_process(),
        }
        journal = Journal.create(folder, header)
        sender = MlflowSender(uri, journal.header, folder)
        outbox = Outbox(sender, journal, self._guard.warn)
        sender.on_sent = outbox.keep_alive
        return outbox, sender

    def _open_parent(
        self, runs: TrainingRuns, options: RunOptions, run_params: Mapping[str, Any]
    ) -> None:
        """Create the parent run, unless a user opened or named one."""
        active = mlflow.active_run() if self._opened_by_user else None
        existing = active.info.run_id if active else options.id
        if existing:
            runs.adopt_parent(existing)
        else:
            pipelines = " + ".join(run_params["pipeline_names"] or ["every loss"])
            recipe = self._parameters["recipe"]["name"]
            options.name = options.name or f"{pipelines} ({self._parameters['dataset']}, {recipe})"
            tags = {name: value for name, value in run_params.items() if value}
            runs.open_parent(options.name, resolve_tags(tags))
        self._owns_parent = not self._opened_by_user

    def _tags(self, run_params: Mapping[str, Any]) -> dict[str, str]:
        """Tags of the parent and of every child."""
        return {
            "dataset": self._parameters["dataset"],
            "recipe": self._parameters["recipe"]["name"],
            **_describe_fold(self._parameters, run_params["pipeline_names"]),
            **_describe_sweep(self._parameters),
            PROCESS_TAG: describe_process(),
            "session": run_params["run_id"],
            **describe_source(self._context.project_path),
        }

    def _on_event(self, event: Event) -> None:
        if self._runs is None:
            return
        if isinstance(event, TrainingStarted):
            params = self._training_params(event.loss, event.seed)
            self._runs.start(event.loss, event.seed, params)
        elif isinstance(event, TrainingEnded):
            self._runs.tag(event.loss, event.seed, _training_tags(event.facts))
        elif isinstance(event, TrialEnded):
            self._add_trial(self._runs, event)
        else:
            metrics = {name.replace("_", "/", 1): value for name, value in event.metrics.items()}
            self._runs.log_metrics(event.loss, event.seed, event.evaluation, metrics)

    def _add_trial(self, runs: TrainingRuns, trial: TrialEnded) -> None:
        """The run of a trial: its settings, its value, the best value so far by step."""
        metric = f"validation/{trial.metric}"
        points = [(f"{metric}_best", value, step) for step, value in trial.curve.items()]
        points += [] if trial.value is None else [(metric, trial.value, 0)]
        tags = {"pruned": "true"} if trial.state == "pruned" else {}
        tags |= {FAILURE_TAG: trial.reason} if trial.reason else {}
        tags |= {CURRENT_TAG: "true"} if trial.current else {}
        parameters = self._training_params(trial.loss, trial.seed) | {
            "loss_options": trial.settings
        }
        training = (trial.loss, trial.seed, trial.number)
        runs.add_trial(*training, parameters, state=trial.state, metrics=points, tags=tags)

    def _training_params(self, loss: str, seed: int) -> dict[str, Any]:
        """The parameters that what led to a loss's metrics has read, in this run's pipeline."""
        others = {*NOT_OF_A_TRAINING, *(namespace(name) for name in METHODS)}
        read = self._params_of(loss)
        return {
            **{key: value for key, value in self._parameters.items() if key in read - others},
            "label_statistics": self._label_statistics,
            "loss": loss,
            "seed": seed,
            "loss_options": LossSettings(**self._parameters[namespace(loss)]).settings,
        }

    def _params_of(self, loss: str) -> set[str]:
        """Names of the parameters upstream of a loss's metrics; all, where they are not made here."""
        metrics = f"{namespace(loss)}_metrics"
        if metrics not in self._pipeline.all_outputs():
            return set(self._parameters)
        inputs = self._pipeline.to_outputs(metrics).inputs()
        return {
            name.removeprefix("params:").split(".")[0] for name in inputs if _is_parameter(name)
        }

    def _log_params(self, parameters: Mapping[str, Any]) -> None:
        """Log those parameters of nodes that no node before them took; a loss's stand in its runs."""
        others = {f"params:{name}" for name in (*REPEATED, *map(namespace, METHODS))}
        names = parameters.keys() - self._logged_params - others
        new = {name: parameters[name] for name in parameters if name in names}
        self._logged_params |= names
        if self._runs is not None:
            self._runs.log_parent_params(
                {name.removeprefix("params:"): _plain(value) for name, value in new.items()}
            )

    def _mirror(self, runs: TrainingRuns, dataset_name: str, data: Any, *, current: bool) -> None:
        if dataset_name == "label_statistics":  # mu: what "auto" stands for
            self._label_statistics = {key: data[key] for key in ("documents", "labels", "mu")}
            runs.log_parent_params({"label_statistics": self._label_statistics})
        elif dataset_name == "data_fingerprint":
            self._use_dataset(runs, data)
        elif dataset_name in METRICS:
            self._log_results(runs, METRICS[dataset_name], data, current=current)
        elif dataset_name in ARTIFACTS:
            runs.log_artifact(data, ARTIFACTS[dataset_name])
            if dataset_name == "diagnosis":
                findings = [finding["text"] for finding in data["findings"]]
                runs.tag_parent({"diagnosis": "\n".join(findings)})
            if current and dataset_name in ("report_page", "retrieval_page"):
                runs.tag_parent(self._made_by(dataset_name))

    def _use_dataset(self, runs: TrainingRuns, hashes: Mapping[str, str]) -> None:
        """Note the split corpus as MLflow's input; with other splits its digest is another."""
        digest = hashlib.sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest()[:12]
        name, split = self._parameters["dataset"], self._parameters.get("split")
        facts = {"split": split, "hashes": dict(hashes)}
        runs.use_dataset(name, digest, source=f"{RAW_FILES}/{name}", facts=facts)

    def _log_results(
        self, runs: TrainingRuns, loss: str, metrics: dict[str, Any], *, current: bool
    ) -> None:
        """Log the test metrics of a loss and end its runs."""
        ranked = "rules" not in metrics  # retrieval decides nothing
        rules = {} if ranked else self._catalog.load(f"{namespace(loss)}_decision_rules")
        of_all_seeds = _intervals(metrics) | ({} if ranked else _metrics_by_rule(metrics))
        for name, seed_metrics in metrics["seeds"].items():
            seed = int(name)
            known = self._training_params(loss, seed) if current else {"loss": loss, "seed": seed}
            runs.start(loss, seed, known, current=current)  # unless it trained in this run
            own = own_results(metrics)
            own_metrics = own["seeds"][name] if own else {}
            test_metrics = {
                **{f"test/{metric}": value for metric, value in seed_metrics.items()},
                **{f"test/own/{metric}": value for metric, value in own_metrics.items()},
            }
            made_by = self._made_by(f"{namespace(loss)}_metrics") if current else {}
            runs.tag(loss, seed, _training_tags(metrics["training"]["seeds"][name]) | made_by)
            if rules and not current:  # the run it was made by has them
                runs.log_artifact(rules, "decision_rules.json", (loss, seed))
            runs.finish(loss, seed, "FINISHED", test_metrics | of_all_seeds)
            of_all_seeds = _intervals(
                metrics
            )  # the rules, a quarter of all metrics, stand in one run
        self._evaluated.append(loss)

    def _log_models(self) -> None:
        """Log the models of all losses that were evaluated: at the end, when the corpus is described."""
        if self._runs is None or not self._parameters["mlflow"]["log_models"]:
            return
        for loss in self._evaluated:
            try:
                self._log_model(self._runs, loss)
            except Exception as error:  # noqa: BLE001 - a model that is not logged fails no run
                logger.warning("MLflow has no model of %s: %s", loss, error)

    def _log_model(self, runs: TrainingRuns, loss: str) -> None:
        """Log the model of a loss's best seed, to its run."""
        from losslab.inference.mlflow_model import save_mlflow_model

        (node,) = assemble(loss).nodes
        inputs = {name: self._catalog.load(name) for name in node.inputs}
        any_seed = {"seed": None}
        inputs["params:predict"] = inputs["params:predict"].model_copy(update=any_seed)
        model = node.run(inputs)["trained_model"]
        folder = self._context.project_path / OUTBOX / f"model-{uuid4().hex}"
        save_mlflow_model(model, folder)
        name = self._parameters["mlflow"]["register_as"]
        register_as = f"{name}-{loss}" if name else None
        runs.log_model(loss, model.facts.seed, folder, register_as=register_as)

    def _made_by(self, dataset_name: str) -> dict[str, str]:
        """A tag: the Kedro session that computed a saved dataset."""
        dataset: Any = self._catalog.get(dataset_name)
        run = dataset.manifest.provenance.run if isinstance(dataset, Checked) else {}
        return {MADE_BY_TAG: run["id"]} if "id" in run else {}

    def _end(self, status: str) -> Wrapper:
        """End all runs, let the plugin end the parent once more, or do so where it does not."""
        self._log_models()
        self._close(status)
        results = None
        with self._guard, self._request_limits():
            results = yield
        self._deactivate_parent(status)
        return results

    def _close(self, status: str) -> None:
        """End the runs that are open, and wait for the outbox as long as the server answers."""
        runs, outbox, self._runs, self._outbox = self._runs, self._outbox, None, None
        self._event_listener.close()
        if runs is None or outbox is None:
            return
        runs.finish_all(status)
        if self._owns_parent:
            runs.end_parent(status)
        self._unsent = outbox.close()
        if self._unsent:
            logger.info("%d operations for MLflow wait in %s", self._unsent, OUTBOX)

    def _request_limits(self) -> AbstractContextManager[None]:
        """Little patience for a server that has just failed to answer."""
        return _environment(MLFLOW_HTTP_REQUEST_TIMEOUT="1") if self._unsent else nullcontext()

    def _deactivate_parent(self, status: str) -> None:
        """See to it that the parent is not MLflow's active run, unless a user opened it."""
        atexit.unregister(self._kill)
        if self._owns_parent and mlflow.active_run() is not None:
            with self._guard, self._request_limits():
                mlflow.end_run(status)
        self._owns_parent = False

    def _kill(self) -> None:
        """End every open run as KILLED: Ctrl-C and SIGTERM skip ``on_pipeline_error``."""
        self._close("KILLED")
        self._deactivate_parent("KILLED")


def _disable_plugin(
    run_params: Mapping[str, Any], pipeline: Pipeline, catalog: DataCatalog
) -> None:
    """Switch kedro-mlflow off for this run, as its option ``disable_tracking.pipelines`` does."""
    names = run_params["pipeline_names"] or ["__default__"]
    mlflow_hook.mlflow_config = KedroMlflowConfig.model_validate(
        {"tracking": {"disable_tracking": {"pipelines": names}}}
    )
    mlflow_hook.run_id = None
    mlflow_hook.before_pipeline_run(run_params, pipeline, catalog)


def _describe_fold(
    parameters: Mapping[str, Any], pipelines: Sequence[str] | None
) -> dict[str, str]:
    """Tags of a cross-validation: the fold, or all where they are compared, and their number."""
    split = parameters.get("split") or {}
    if not split.get("folds"):
        return {}
    fold = "all" if "cross_validation" in (pipelines or ()) else str(split["fold"])
    return {"fold": fold, "folds": str(split["folds"])}


def _describe_sweep(parameters: Mapping[str, Any]) -> dict[str, str]:
    """Tags of a sweep: its name and the point, ``all`` where points are compared."""
    part, sweep = current_part(), parameters.get("sweep")
    return part.tags if part else {"sweep": sweep["name"], "point": "all"} if sweep else {}


def _trial_of(search: Mapping[str, Any], trial: Mapping[str, Any]) -> TrialEnded:
    """A trial that an earlier run did."""
    return TrialEnded(
        search["loss"],
        search["seed"],
        trial["number"],
        trial["state"],
        trial["value"],
        search["metric"],
        trial["settings"],
        {int(step): value for step, value in trial["curve"].items()},
        trial.get("reason", ""),
        current=True,
    )


def _training_tags(facts: Mapping[str, Any]) -> dict[str, str]:
    """What a training was selected by, why it ended, and its mark."""
    mark = {"mark": facts["mark"]} if facts["mark"] else {}
    return {"training": describe_training(facts), **mark}


def _mlflow_config(context: Any) -> KedroMlflowConfig | None:
    """What ``mlflow.yml`` says; None where it cannot be read, of which the plugin has warned."""
    if hasattr(context, "mlflow"):
        return cast(KedroMlflowConfig, context.mlflow)
    try:  # the plugin stopped before it had set up the server
        config = KedroMlflowConfig.model_validate(context.config_loader["mlflow"])
    except (KeyError, ValueError):
        return None
    experiment = config.tracking.experiment
    options, project = experiment.create_experiment_kwargs, context.project_path
    config.server.mlflow_tracking_uri = _validate_uri(project, config.server.mlflow_tracking_uri)
    if options.artifact_location:
        options.artifact_location = _validate_uri(project, options.artifact_location)
    return config


def _loss_colours() -> dict[str, str]:
    from losslab.reporting.plots import loss_colour

    return {loss: loss_colour(loss) for loss in METHODS}


def _is_parameter(dataset_name: str) -> bool:
    return dataset_name.startswith("params:") or dataset_name == "parameters"


def _plain(parameter: Any) -> Any:
    """A typed parameter as a dictionary."""
    return parameter.model_dump() if isinstance(parameter, BaseModel) else parameter


@contextmanager
def _environment(**variables: str) -> Iterator[None]:
    """Environment variables while the block runs."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def _intervals(metrics: Mapping[str, Any]) -> dict[str, float]:
    """The intervals of a loss over its seeds."""
    return {
        f"test/{metric}_{bound}": value
        for metric, bounds in metrics["intervals"].items()
        for bound, value in bounds.items()
    }


def _metrics_by_rule(metrics: Mapping[str, Any]) -> dict[str, float]:
    """The metrics of each decision rule, means over seeds."""
    return {
        f"{split}/rules/{rule}/{metric}": value
        for rule, splits in metrics["rules"].items()
        for split, rule_metrics in splits.items()
        for metric, value in rule_metrics.items()
    }


def _exit_on_sigterm() -> None:
    """Turn SIGTERM into an exit, so that ``atexit`` ends open runs as KILLED."""
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
