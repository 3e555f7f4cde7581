"""Kedro hooks: child runs in MLflow beside kedro-mlflow's own hook, and a summary table."""

import atexit
import os
import signal
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import click
import mlflow
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.framework.project import pipelines
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline
from kedro_mlflow.config.kedro_mlflow_config import KedroMlflowConfig
from kedro_mlflow.framework.hooks import mlflow_hook
from mlflow.tracking import MlflowClient
from pydantic import BaseModel

from losslab.evaluation import own_results
from losslab.losses import LOSSES
from losslab.parameters import namespace
from losslab.pipeline_registry import create_registry
from losslab.tracking import (
    PROCESS_TAG,
    MlflowGuard,
    TrainingRuns,
    describe_process,
    describe_source,
    save_view,
    view_address,
)
from losslab.training.events import Event, TrainingStarted, listening

METRICS = {f"{namespace(loss)}_metrics": loss for loss in LOSSES}
"""Datasets that hold the metrics of a loss."""
ARTIFACTS = {
    "report_page": "report.html",
    "comparison": "comparison.csv",
    "uncertainty": "uncertainty.json",
    "corpus_table": "corpus_table.csv",
}
"""Datasets that the parent run keeps; the page holds every figure."""
Wrapper = Generator[None, Any, Any]


class PipelineSelection:
    """Fits the registry to the run: losses of the dataset's task, a report on the chosen ones."""

    @hook_impl(tryfirst=True)  # a hook that fails, as the plugin's may, skips those after it
    def after_context_created(self, context: KedroContext) -> None:
        """Replace pipelines before Kedro picks from them; a registry cannot know the parameters."""
        parameters = context.config_loader["parameters"]
        pipelines.update(create_registry(parameters["task"], parameters["losses"]))


class Tracking:
    """Child runs per loss and seed beside kedro-mlflow's parent run; MLflow never fails the run.

    The plugin's hook stays registered: it reads ``mlflow.yml``, opens and ends the parent run and
    logs parameters. The hooks here wrap it. When MLflow fails, one warning is logged, the plugin is
    switched off by its own option ``disable_tracking`` and the run goes on.
    """

    def __init__(self) -> None:
        self._guard = MlflowGuard()
        self._runs: TrainingRuns | None = None
        self._owns_parent = False
        self._label_statistics: dict[str, Any] = {}
        self._logged_params: set[str] = set()
        self._event_listener = ExitStack()

    @hook_impl(wrapper=True)
    def after_context_created(self, context: KedroContext) -> Wrapper:
        """Guard the plugin's setup of MLflow."""
        self._kill()  # what an interrupted run of the same process left open
        for name, value in {"MAX_RETRIES": "2", "TIMEOUT": "10"}.items():
            os.environ.setdefault(f"MLFLOW_HTTP_REQUEST_{name}", value)
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
        """Name the parent run, let the plugin open it, listen to trainings."""
        self._catalog, self._label_statistics, self._logged_params = catalog, {}, set()
        self._guard.on_failure = partial(_disable_plugin, run_params, pipeline, catalog)
        if self._guard.works:
            self._prepare_parent(run_params)
        else:
            self._guard.on_failure()
        results = None
        with self._guard:
            results = yield
        parent = mlflow.active_run()
        if self._guard.works and parent is not None:
            self._track(parent.info.experiment_id, parent.info.run_id)
        return results

    @hook_impl(wrapper=True)
    def before_node_run(self, inputs: dict[str, Any]) -> Wrapper:
        """Let the plugin log each parameter once, a typed one field by field.

        ``inputs`` is Kedro's copy for the hooks: the node's own inputs stay as they are.
        """
        for name in [name for name in inputs if name.startswith("params:")]:
            if name in self._logged_params:
                del inputs[name]
            elif isinstance(inputs[name], BaseModel):
                inputs[name] = inputs[name].model_dump()
            self._logged_params.add(name)
        with self._guard:
            return (yield)

    @hook_impl
    def after_dataset_saved(self, dataset_name: str, data: Any) -> None:
        """Mirror what was saved: metrics of a loss to its runs, the report to the parent."""
        if self._runs is not None:
            self._guard.attempt(self._mirror, self._runs, dataset_name, data)

    @hook_impl(wrapper=True)
    def after_pipeline_run(self) -> Wrapper:
        """End every run as FINISHED."""
        return (yield from self._end("FINISHED"))

    @hook_impl(wrapper=True)
    def on_pipeline_error(self) -> Wrapper:
        """End every run as FAILED."""
        return (yield from self._end("FAILED"))

    def how_to_open(self) -> str:
        """What to type or click to see the runs."""
        if self._runs is None:
            return "not tracked"
        config = self._context.mlflow
        view = view_address(self._runs.experiment_id)
        if config.server.mlflow_tracking_uri.startswith("http"):
            return f"{config.server.mlflow_tracking_uri}{view}"
        return f"kedro mlflow ui, then http://{config.ui.host}:{config.ui.port}{view}"

    def _prepare_parent(self, run_params: Mapping[str, Any]) -> None:
        """Name the parent run, and see to it that it ends with this process."""
        pipelines = " + ".join(run_params["pipeline_names"] or ["every loss"])
        name = f"{pipelines} ({self._parameters['dataset']}, {self._parameters['recipe']['name']})"
        options = self._context.mlflow.tracking.run
        options.name = options.name or name
        self._owns_parent = not self._opened_by_user
        atexit.register(self._kill)
        _exit_on_sigterm()

    def _track(self, experiment_id: str, parent_id: str) -> None:
        """Mirror this run to MLflow from now on."""
        self._runs = self._guard.attempt(self._open_runs, experiment_id, parent_id)
        self._event_listener.enter_context(listening(self._on_event))

    def _open_runs(self, experiment_id: str, parent_id: str) -> TrainingRuns:
        from losslab.reporting.plots import loss_colour

        tags = {
            "dataset": self._parameters["dataset"],
            "recipe": self._parameters["recipe"]["name"],
            PROCESS_TAG: describe_process(),
            **describe_source(self._context.project_path),
        }
        colours = {loss: loss_colour(loss) for loss in LOSSES}
        client = MlflowClient()
        runs = TrainingRuns(
            client, experiment_id, parent_id, tags=tags, colours=colours, guard=self._guard
        )
        runs.tag_parent(kedro_command=tags["command"])  # the plugin's leaves out --params and --env
        runs.end_orphans()
        self._guard.attempt(save_view, client, experiment_id)
        return runs

    def _on_event(self, event: Event) -> None:
        if self._runs is None:
            return
        if isinstance(event, TrainingStarted):
            params = self._training_params(event.loss, event.seed)
            self._runs.start(event.loss, event.seed, params)
        else:
            metrics = {name.replace("_", "/", 1): value for name, value in event.metrics.items()}
            self._runs.log_metrics(event.loss, event.seed, event.evaluation, metrics)

    def _training_params(self, loss: str, seed: int) -> dict[str, Any]:
        """All parameters but the options of other losses."""
        namespaces = {namespace(name) for name in LOSSES}
        shared = {key: value for key, value in self._parameters.items() if key not in namespaces}
        return {
            **shared,
            "label_statistics": self._label_statistics,
            "loss": loss,
            "seed": seed,
            "loss_options": self._parameters[namespace(loss)]["options"],
        }

    def _mirror(self, runs: TrainingRuns, dataset_name: str, data: Any) -> None:
        if dataset_name == "label_statistics":  # mu: what "auto" stands for
            self._label_statistics = {key: data[key] for key in ("documents", "labels", "mu")}
            runs.log_parent_params({"label_statistics": self._label_statistics})
        elif dataset_name in METRICS:
            self._log_results(runs, METRICS[dataset_name], data)
        elif dataset_name in ARTIFACTS:
            runs.log_artifact(data, ARTIFACTS[dataset_name])

    def _log_results(self, runs: TrainingRuns, loss: str, metrics: dict[str, Any]) -> None:
        """Log the test metrics of a loss and end its runs."""
        rules = self._catalog.load(f"{namespace(loss)}_decision_rules")
        for name, seed_metrics in metrics["seeds"].items():
            seed = int(name)
            runs.start(loss, seed, {"loss": loss, "seed": seed})  # unless it trained in this run
            own = own_results(metrics)
            own_metrics = own["seeds"][name] if own else {}
            test_metrics = {
                **{f"test/{metric}": value for metric, value in seed_metrics.items()},
                **{f"test/own/{metric}": value for metric, value in own_metrics.items()},
            }
            runs.log_metrics(loss, seed, 0, test_metrics | _metrics_over_seeds(metrics))
            runs.log_artifact(rules, "decision_rules.json", (loss, seed))
            runs.finish(loss, seed, "FINISHED")

    def _end(self, status: str) -> Wrapper:
        """End the child runs, let the plugin end the parent, or do so where it could not."""
        if self._runs is not None:
            self._runs.finish_all(status)
        results = None
        with self._guard:
            results = yield
        self._end_parent(status)
        return results

    def _end_parent(self, status: str) -> None:
        """End the parent run, unless the plugin did or a user opened it."""
        self._event_listener.close()
        atexit.unregister(self._kill)
        if self._owns_parent and mlflow.active_run() is not None:
            with self._guard:  # even an unreachable server's run must not stay MLflow's active one
                mlflow.end_run(status)
        self._owns_parent = False

    def _kill(self) -> None:
        """End every open run as KILLED: Ctrl-C and SIGTERM skip ``on_pipeline_error``."""
        if self._runs is not None:
            self._runs.finish_all("KILLED")
        self._runs = None
        self._end_parent("KILLED")


class Summary:
    """Prints the metrics that a run saved as a table, and where to look further."""

    def __init__(self, tracking: Tracking) -> None:
        self._tracking = tracking
        self._metrics: dict[str, dict[str, Any]] = {}
        self._report_saved = False

    @hook_impl(tryfirst=True)
    def before_pipeline_run(self) -> None:
        """Forget an earlier run of the same process."""
        self._metrics, self._report_saved = {}, False

    @hook_impl
    def after_dataset_saved(self, dataset_name: str, data: Any) -> None:
        """Collect the metrics of each loss."""
        if dataset_name in METRICS:
            self._metrics[METRICS[dataset_name]] = data
        self._report_saved |= dataset_name == "report_page"

    @hook_impl(wrapper=True, tryfirst=True)
    def after_pipeline_run(self, catalog: DataCatalog) -> Wrapper:
        """Print the table when all other hooks are done; nothing where no loss was evaluated."""
        results = yield
        if self._metrics:
            self._print(catalog)
        return results

    def _print(self, catalog: DataCatalog) -> None:
        from losslab.reporting import comparison_table, to_markdown

        lines = ["", to_markdown(comparison_table(self._metrics)), ""]
        page: Any = catalog.get("report_page")
        if self._report_saved:
            lines.append(f"report   {_relative(page.latest)}")
        lines += [f"runs     {self._tracking.how_to_open()}", "DAG      kedro viz", ""]
        click.echo("\n".join(lines))


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


def _metrics_over_seeds(metrics: Mapping[str, Any]) -> dict[str, float]:
    """Metrics that belong to all seeds of a loss: intervals, and those of each decision rule."""
    intervals = {
        f"test/{metric}_{bound}": value
        for metric, bounds in metrics["intervals"].items()
        for bound, value in bounds.items()
    }
    rules = {
        f"{split}/rules/{rule}/{metric}": value
        for rule, splits in metrics["rules"].items()
        for split, rule_metrics in splits.items()
        for metric, value in rule_metrics.items()
    }
    return intervals | rules


def _exit_on_sigterm() -> None:
    """Turn SIGTERM into an exit, so that ``atexit`` ends open runs as KILLED."""
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def _relative(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
