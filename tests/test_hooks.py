"""Our hooks and kedro-mlflow's own in one hook manager, around real runs of a small pipeline."""

import contextlib
import logging
import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any

import mlflow
import pytest
from fake_mlflow_server import FakeServer, serve
from kedro.config import OmegaConfigLoader
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.framework.hooks.manager import (
    _create_hook_manager,
    _register_hooks,
    _register_hooks_entry_points,
)
from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import Node, Pipeline
from kedro.runner import SequentialRunner
from mlflow.tracking import MlflowClient
from pydantic import BaseModel

from losslab.hooks import PipelineSelection, Summary, Tracking
from losslab.training.events import EpochEnded, TrainingStarted, publish

PARAMETERS = """
task: multi
losses: [bce, db]
dataset: cwe
recipe: {name: probe, training: {epochs: 4}}
seed: 1
db_loss: {name: db, options: {gamma: 2.0}}
"""
METRICS = {
    "seeds": {"1": {"macro_f1": 0.5}},
    "mean": defaultdict(lambda: 0.5),
    "std": defaultdict(lambda: None),
    "intervals": {"macro_f1": {"low": 0.4, "high": 0.6}},
    "own": {"seeds": {"1": {"macro_f1": 0.45}}},
    "rules": {"top_k": {"test": {"macro_f1": 0.35}}},
}
CONF = Path(__file__).parents[1] / "conf/base/mlflow.yml"


class Budget(BaseModel):
    epochs: int


class Recipe(BaseModel):
    name: str
    training: Budget


def train(recipe: Recipe) -> str:
    assert isinstance(recipe, Recipe)
    publish(TrainingStarted("db", 1))
    publish(EpochEnded("db", 1, 1.0, 1, {"validation_macro_f1": 0.3}))
    return "model"


def evaluate(model: str, recipe: Recipe) -> dict[str, Any]:
    assert isinstance(recipe, Recipe)
    return METRICS


def fail(model: str) -> None:
    raise ValueError(f"no use for a {model}")


def interrupt(model: str) -> None:
    raise KeyboardInterrupt


TRAIN = Node(train, "params:recipe", "model", name="train")
EVALUATE = Node(evaluate, ["model", "params:recipe"], "db_loss_metrics", name="evaluate")
FAIL = Node(fail, "model", None, name="fail")
INTERRUPT = Node(interrupt, "model", None, name="interrupt")


@pytest.fixture
def store(tmp_path, mlflow_store) -> str:
    return f"sqlite:///{shutil.copy(mlflow_store, tmp_path)}"


@pytest.fixture(autouse=True)
def clean_mlflow(monkeypatch):
    """No retries, and nothing of MLflow's state left for the next test."""
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    yield
    while mlflow.active_run():
        mlflow.end_run()
    mlflow.set_tracking_uri(None)


class Project:
    """A project of two files of configuration; ``run`` calls hooks in the order of KedroSession."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.hooks = [Tracking()]
        self.hooks.append(Summary(self.hooks[0]))
        (folder / "conf/base").mkdir(parents=True)
        (folder / "conf/base/parameters.yml").write_text(PARAMETERS)

    def run(self, uri: str, *nodes: Node) -> None:
        manager = _create_hook_manager()
        _register_hooks(manager, self.hooks)
        _register_hooks_entry_points(manager, ())
        context = KedroContext(
            self.folder, self._config_loader(uri), None, "losslab", manager, runtime_params=None
        )
        manager.hook.after_context_created(context=context)
        pipeline, catalog = Pipeline(nodes), self._catalog()
        names = ("tags", "node_names", "from_nodes", "to_nodes", "from_inputs", "load_versions")
        run_params = {**dict.fromkeys(names), "pipeline_names": ["db_loss"]}
        run = {"run_params": run_params, "pipeline": pipeline, "catalog": catalog}
        manager.hook.before_pipeline_run(**run)
        try:
            result = SequentialRunner().run(pipeline, catalog, manager)
        except Exception as error:
            manager.hook.on_pipeline_error(error=error, **run)
            raise
        manager.hook.after_pipeline_run(run_result=result, **run)

    def _config_loader(self, uri: str) -> OmegaConfigLoader:
        places = {"tracking_uri": uri, "artifact_location": str(self.folder / "mlruns")}
        conf = CONF.read_text()
        for name, place in places.items():
            assert f"${{losslab.{name}:}}" in conf
            conf = conf.replace(f"${{losslab.{name}:}}", place)
        (self.folder / "conf/base/mlflow.yml").write_text(conf)
        return OmegaConfigLoader(str(self.folder / "conf"), base_env="base", default_run_env="base")

    def _catalog(self) -> DataCatalog:
        recipe = Recipe(name="probe", training=Budget(epochs=4))
        data = {"params:recipe": recipe, "db_loss_decision_rules": {"seeds": {}}}
        return DataCatalog({name: MemoryDataset(value) for name, value in data.items()})


@pytest.fixture
def project(tmp_path) -> Project:
    return Project(tmp_path)


def runs_of(uri: str) -> list[mlflow.entities.Run]:
    """Oldest first."""
    client = MlflowClient(uri)
    experiment = client.get_experiment_by_name("losslab")
    return client.search_runs([experiment.experiment_id], order_by=["attributes.start_time"])


def statuses(uri: str) -> dict[str, str]:
    return {run.info.run_name: run.info.status for run in runs_of(uri)}


def test_plugin_opens_the_parent_and_a_child_run_stands_below_it(project, store, capsys):
    project.run(store, TRAIN, EVALUATE)
    parent, child = runs_of(store)
    assert parent.info.run_name == "db_loss (cwe, probe)"
    assert parent.data.tags["pipeline_names"] == "['db_loss']"  # the plugin's tag
    assert parent.data.tags["kedro_command"] == parent.data.tags["command"]
    assert child.info.run_name == "db_loss seed 1 (cwe, probe)"
    assert child.data.tags["mlflow.parentRunId"] == parent.info.run_id
    assert {parent.info.status, child.info.status} == {"FINISHED"}
    assert child.data.metrics == {
        "validation/macro_f1": 0.3,
        "test/macro_f1": 0.5,
        "test/macro_f1_low": 0.4,
        "test/macro_f1_high": 0.6,
        "test/own/macro_f1": 0.45,
        "test/rules/top_k/macro_f1": 0.35,
    }
    assert child.data.params == {
        "task": "multi",
        "losses": "['bce', 'db']",
        "dataset": "cwe",
        "recipe.name": "probe",
        "recipe.training.epochs": "4",
        "seed": "1",
        "loss": "db",
        "loss_options.gamma": "2.0",
    }
    printed = capsys.readouterr().out
    assert "| db " in printed
    assert "kedro mlflow ui" in printed


def test_typed_parameters_are_logged_field_by_field_and_once(project, store, monkeypatch):
    logged = []
    log_param = mlflow.log_param
    monkeypatch.setattr(
        mlflow, "log_param", lambda *args: (logged.append(args[0]), log_param(*args))
    )
    project.run(store, TRAIN, EVALUATE)
    assert logged == ["recipe.name", "recipe.training.epochs"]
    assert runs_of(store)[0].data.params == {"recipe.name": "probe", "recipe.training.epochs": "4"}


def test_failed_node_fails_parent_and_child(project, store):
    with pytest.raises(ValueError, match="no use for a model"):
        project.run(store, TRAIN, FAIL)
    assert set(statuses(store).values()) == {"FAILED"}
    assert mlflow.active_run() is None


def test_interrupted_run_is_killed_when_the_next_one_of_the_process_starts(project, store):
    with pytest.raises(KeyboardInterrupt):
        project.run(store, TRAIN, INTERRUPT)
    project.run(store, TRAIN, EVALUATE)
    assert [run.info.status for run in runs_of(store)] == ["KILLED"] * 2 + ["FINISHED"] * 2


def test_runs_of_one_process_have_parents_of_their_own(project, store):
    for _ in range(2):
        project.run(store, TRAIN, EVALUATE)
        assert mlflow.active_run() is None
    parents = [run for run in runs_of(store) if "mlflow.parentRunId" not in run.data.tags]
    assert len(parents) == 2


def test_run_that_a_user_opened_is_used_and_left_open(project, store):
    mlflow.set_tracking_uri(store)
    mlflow.create_experiment("losslab", artifact_location=project.folder.as_uri())
    mlflow.set_experiment("losslab")
    with mlflow.start_run(run_name="mine") as mine:
        project.run(store, TRAIN, EVALUATE)
        assert mlflow.active_run().info.run_id == mine.info.run_id
        assert statuses(store) == {"mine": "RUNNING", "db_loss seed 1 (cwe, probe)": "FINISHED"}


def mlflow_warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    return [record.getMessage() for record in warnings if "MLflow" in record.getMessage()]


@pytest.mark.parametrize("failure", ["500", "closed"])
@pytest.mark.parametrize(
    "fails_at",
    ["", "runs/create", "runs/set-tag", "runs/log-parameter", "runs/log-batch", "runs/update"],
)
def test_failing_server_costs_one_warning(project, caplog, capsys, failure, fails_at):
    with serve(FakeServer(failure, fails_at)) as server:
        project.run(server.url, TRAIN, EVALUATE)
    assert server.failed
    assert len(mlflow_warnings(caplog)) == 1
    assert "tracking is off for the rest of this run" in mlflow_warnings(caplog)[0]
    assert "| db " in capsys.readouterr().out
    assert mlflow.active_run() is None


def test_server_that_is_gone_is_not_asked_for_every_node(project):
    inputs = ["model", "params:recipe"]
    more = [Node(evaluate, inputs, f"result_{n}", name=f"evaluate_{n}") for n in range(9)]
    with serve(FakeServer("500", "runs/log-parameter")) as server:
        project.run(server.url, TRAIN, *more)
    assert server.failed.count("runs/log-parameter") == 1
    assert len(server.failed) <= 3


@pytest.mark.parametrize(
    ("nodes", "status"), [((TRAIN, EVALUATE), "FINISHED"), ((TRAIN, FAIL), "FAILED")]
)
def test_server_that_failed_once_is_told_the_statuses(project, nodes, status):
    with (
        serve(FakeServer("500", "runs/log-batch", spared=2, recovers=True)) as server,
        contextlib.suppress(ValueError),
    ):
        project.run(server.url, *nodes)
    assert server.failed == ["runs/log-batch"]
    ended = [body["status"] for method, body in server.requests if method == "runs/update"]
    assert ended == [status, status]


def test_failing_server_does_not_hide_the_error_of_a_node(project):
    with (
        serve(FakeServer("500", "runs/update")) as server,
        pytest.raises(ValueError, match="no use for a model"),
    ):
        project.run(server.url, TRAIN, FAIL)
    assert server.failed


def test_server_that_is_back_is_used_by_the_next_run_of_the_process(project, store):
    with serve(FakeServer("closed", "")) as server:
        project.run(server.url, TRAIN, EVALUATE)
    project.run(store, TRAIN, EVALUATE)
    assert set(statuses(store).values()) == {"FINISHED"}


def test_failing_server_does_not_skip_the_selection_of_pipelines(project, monkeypatch):
    registry: dict[str, Pipeline] = {}
    monkeypatch.setattr("losslab.hooks.pipelines", registry)
    project.hooks.insert(0, PipelineSelection())
    with serve(FakeServer("500", "")) as server:
        project.run(server.url, TRAIN, EVALUATE)
    assert server.failed
    assert "__default__" in registry


def test_errors_of_other_hooks_are_not_swallowed(project, store):
    class Other:
        @hook_impl
        def before_node_run(self):
            raise RuntimeError("not MLflow's")

    project.hooks.append(Other())
    with pytest.raises(RuntimeError, match="not MLflow's"):
        project.run(store, TRAIN, EVALUATE)
