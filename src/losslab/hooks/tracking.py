"""MLflow: kedro-mlflow's parent run, and below it a run per loss and seed."""

import atexit
import logging
import os
import signal
import sys
import threading
import warnings
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import CatalogProtocol
from kedro.pipeline import Pipeline

with warnings.catch_warnings(record=True):  # mlflow complains about a class of kedro-mlflow's
    from kedro_mlflow.framework.hooks.mlflow_hook import MlflowHook

from losslab.parameters import TRAINABLE, namespace
from losslab.tracking import (
    PROCESS_TAG,
    TrainingRuns,
    describe_process,
    describe_source,
    save_view,
    view_address,
)
from losslab.training.events import Event, TrainingStarted, listening

logger = logging.getLogger(__name__)
METRICS = {f"{namespace(name)}.metrics": name for name in TRAINABLE}
FILES = ("report_page", "comparison", "uncertainty", "corpus_table")
FIGURES = (
    "group_scores",
    "ranks",
    "learning_curves",
    "learning_time",
    "training_curves",
    "sorted_scores",
    "reliability",
    "precision_recall",
    "label_scatter",
    "similar_labels",
    "long_tail",
    "cooccurrence_map",
    "labels_per_document",
    "document_lengths",
)


class Tracking(MlflowHook):
    """kedro-mlflow's hook, with child runs, truthful statuses and no say over a run's survival.

    Registered in place of the plugin's own hook, whose configuration and parent run it keeps. Where
    MLflow cannot be reached the run goes on untracked, and a warning says so.
    """

    def __init__(self) -> None:
        super().__init__()
        self._is_mlflow_enabled = False
        self._runs: TrainingRuns | None = None
        self._statistics: dict[str, Any] = {}
        self._listening = ExitStack()

    @hook_impl
    def after_context_created(self, context: KedroContext) -> None:
        """Set MLflow up as ``mlflow.yml`` says."""
        for name, value in {"MAX_RETRIES": "2", "TIMEOUT": "10"}.items():
            os.environ.setdefault(f"MLFLOW_HTTP_REQUEST_{name}", value)
        self._parameters = context.config_loader["parameters"]
        self._project = context.project_path
        self._reachable = True
        try:
            super().after_context_created(context)
        except Exception as error:  # noqa: BLE001
            self._give_up(error)

    @hook_impl
    def before_pipeline_run(
        self, run_params: dict[str, Any], pipeline: Pipeline, catalog: CatalogProtocol
    ) -> None:
        """Open the parent run and listen to the trainings."""
        self._close("KILLED")
        if not self._reachable:
            return
        try:
            self.mlflow_config.tracking.run.name = self._name_parent(run_params)
            super().before_pipeline_run(run_params, pipeline, catalog)
        except Exception as error:  # noqa: BLE001
            self._give_up(error)
            return
        if not self._is_mlflow_enabled:
            return
        self._catalog = catalog
        self._runs = self._open_runs()
        self._listening.enter_context(listening(partial(self._runs.attempt, self._hear)))
        atexit.register(self._close, "KILLED")
        _end_at_sigterm()

    def _give_up(self, error: Exception) -> None:
        self._reachable = False
        logger.warning("MLflow cannot be reached, this run is not tracked: %s", error)

    def before_node_run(self) -> None:
        """Nothing: the plugin's version asks the server before every node."""

    @hook_impl
    def after_dataset_saved(self, dataset_name: str, data: Any) -> None:
        """Mirror what was saved: metrics end a training's run, the report belongs to the parent."""
        if self._runs is not None:
            self._runs.attempt(self._mirror, dataset_name, data)

    def _mirror(self, dataset_name: str, data: Any) -> None:
        if dataset_name == "label_statistics":  # mu: what "auto" stands for
            self._statistics = {key: data[key] for key in ("documents", "labels", "mu")}
            self._runs.describe_parent({"label_statistics": self._statistics})
        elif dataset_name in METRICS:
            self._log_results(METRICS[dataset_name], data)
        elif dataset_name in FILES:
            self._runs.keep_file(Path(self._catalog.get(dataset_name)._get_load_path()))
        elif dataset_name in FIGURES:
            self._runs.keep_pictures(_draw(**{dataset_name: data}))

    @hook_impl
    def after_pipeline_run(self) -> None:
        """All went well."""
        self._close("FINISHED")

    @hook_impl
    def on_pipeline_error(self) -> None:
        """A node failed."""
        self._close("FAILED")

    def how_to_open(self) -> str:
        """What to type or click to see the runs."""
        if not self._reachable:
            return "not tracked"
        view = view_address(self._experiment())
        server = self.mlflow_config.server.mlflow_tracking_uri
        if server.startswith("http"):
            return server + view
        ui = self.mlflow_config.ui
        return f"kedro mlflow ui, then http://{ui.host}:{ui.port}{view}"

    def _experiment(self) -> str:
        return self.mlflow_config.tracking.experiment._experiment.experiment_id

    def _open_runs(self) -> TrainingRuns:
        from losslab.reporting.figures import loss_colour

        tags = {
            "dataset": self._parameters["dataset"],
            "recipe": self._parameters["recipe"],
            PROCESS_TAG: describe_process(),
            **describe_source(self._project),
        }
        client = self.mlflow_config.server._mlflow_client
        experiment = self._experiment()
        runs = TrainingRuns(
            client,
            experiment,
            self.run_id,
            tags=tags,
            colours={loss: loss_colour(loss) for loss in TRAINABLE},
        )
        runs.describe_parent(_shared(self._parameters), drop=("runner", "kedro_command"))
        runs.attempt(save_view, client, experiment)
        runs.end_orphans()
        return runs

    def _name_parent(self, run_params: dict[str, Any]) -> str:
        pipelines = " + ".join(run_params["pipeline_names"] or ["every loss"])
        return f"{pipelines} ({self._parameters['dataset']}, {self._parameters['recipe']})"

    def _hear(self, event: Event) -> None:
        if isinstance(event, TrainingStarted):
            self._start(event.loss, event.seed)
        else:
            figures = {name.replace("_", "/", 1): value for name, value in event.figures.items()}
            self._runs.log(event.loss, event.seed, event.evaluation, figures)

    def _start(self, loss: str, seed: int) -> None:
        options = self._parameters[namespace(loss)]
        shared = {**_shared(self._parameters), "label_statistics": self._statistics}
        self._runs.start(
            loss, seed, {**shared, "loss": loss, "seed": seed, "loss_options": options}
        )

    def _log_results(self, loss: str, metrics: dict[str, Any]) -> None:
        history = self._catalog.load(f"{namespace(loss)}.history")
        thresholds = self._catalog.get(f"{namespace(loss)}.thresholds")._get_load_path()
        for seed, figures in metrics["seeds"].items():
            training = (loss, int(seed))
            self._runs.start(*training, {"loss": loss, "seed": int(seed)})  # unless it trained here
            final = {f"test/{name}": value for name, value in figures.items()}
            self._runs.log(*training, 0, final | _over_seeds(metrics))
            self._runs.keep_file(Path(thresholds), training)
            own = history[history["seed"] == int(seed)]
            self._runs.keep_pictures(_pictures(loss, figures, own), training)
            self._runs.finish(*training, "FINISHED")

    def _close(self, status: str) -> None:
        """End every run that is still open, the parent last."""
        if self._runs is None:
            return
        import mlflow

        runs, self._runs = self._runs, None
        self._listening.close()
        runs.finish_all(status)
        if not self._already_active_mlflow:
            runs.conclude(mlflow.end_run, status)
        atexit.unregister(self._close)


def _shared(parameters: dict[str, Any]) -> dict[str, Any]:
    """The parameters that are the same for every loss; of the recipes, the one chosen."""
    others = {namespace(name) for name in TRAINABLE} | {"recipes", "seed"}
    shared = {name: value for name, value in parameters.items() if name not in others}
    return {**shared, "recipe_settings": parameters["recipes"][parameters["recipe"]]}


def _over_seeds(metrics: dict[str, Any]) -> dict[str, float]:
    """What is known of a loss's seeds together: intervals, and what each rule gives."""
    bounds = {
        f"test/{metric}_{end}": value
        for metric, ends in metrics["intervals"].items()
        for end, value in ends.items()
    }
    rules = {
        f"{split}/rules/{rule}/{metric}": value
        for rule, splits in metrics["rules"].items()
        for split, figures in splits.items()
        for metric, value in figures.items()
    }
    return bounds | rules


def _pictures(loss: str, figures: dict[str, float], history: Any) -> dict[str, bytes]:
    from losslab.reporting import (
        compare,
        draw_group_scores,
        draw_learning_curves,
        gather_histories,
        stand,
    )

    result = {"seeds": [figures], "mean": figures, "std": dict.fromkeys(figures)}
    curve = draw_learning_curves(gather_histories({loss: history})).update_yaxes(range=[0, 1])
    groups = draw_group_scores(stand(compare({loss: result}))).update_xaxes(range=[0, 1])
    return _draw(learning_curves=curve, group_scores=groups)


def _draw(**figures: Any) -> dict[str, bytes]:
    """Pictures; one that fails is left out with a warning: a fault of ours must not end more."""
    from losslab.reporting.png import to_png

    pictures = {}
    for name, figure in figures.items():
        try:
            pictures[name] = to_png(figure)
        except Exception as error:  # noqa: BLE001
            logger.warning("the figure %s could not be drawn: %s", name, error)
    return pictures


def _end_at_sigterm() -> None:
    """Make a polite kill an exit, so that open runs end as KILLED instead of staying RUNNING."""
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
