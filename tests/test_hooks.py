"""Our hooks and kedro-mlflow's own in one hook manager, around real runs of a small pipeline."""

import contextlib
import json
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

from losslab.hooks import MLFLOW_DEFAULTS, OUTBOX, PipelineSelection, Summary, Tracking
from losslab.training.events import EpochEnded, TrainingEnded, TrainingStarted, publish

PARAMETERS = """
task: multi
losses: [bce, db]
baselines: []
dataset: cwe
recipe: {name: probe, training: {epochs: 4}}
seed: 1
soft_labels: {soft_zlpr: classic}
db_loss: {name: db, options: {gamma: 2.0}}
bce_loss: {name: bce, options: {}}
modality: text
predict: {loss: bce, explain: false}
mlflow: {log_models: false, register_as: null}
"""
FACTS = {"select_by": "macro_f1", "best_epoch": 1, "epochs": 4, "ended_by": "budget", "mark": None}
METRICS = {
    "seeds": {"1": {"macro_f1": 0.5}},
    "mean": defaultdict(lambda: 0.5),
    "std": defaultdict(lambda: None),
    "intervals": {"macro_f1": {"low": 0.4, "high": 0.6}},
    "own": {
        "seeds": {"1": {"macro_f1": 0.45}},
        "mean": defaultdict(lambda: 0.45),
        "std": defaultdict(lambda: None),
    },
    "rules": {"top_k": {"test": {"macro_f1": 0.35}}},
    "training": {"seeds": {"1": {**FACTS, "mark": "stopped before it had learned"}}, "mark": None},
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
    publish(TrainingEnded("db", 1, FACTS))
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
FAIL_DB = Node(fail, "model", None, name="fail", tags=["db_loss", "evaluation"])
INTERRUPT = Node(interrupt, "model", None, name="interrupt")


@pytest.fixture
def store(tmp_path, mlflow_store) -> str:
    return f"sqlite:///{shutil.copy(mlflow_store, tmp_path)}"


@pytest.fixture(autouse=True)
def clean_mlflow(monkeypatch):
    """Short pauses, and nothing of MLflow's state left for the next test."""
    for name in MLFLOW_DEFAULTS:
        monkeypatch.setenv(name, MLFLOW_DEFAULTS[name])
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")
    for name, value in {"MAX_PAUSE": 0.01, "LAST_PAUSE": 0.01, "SILENCE": 3.0}.items():
        monkeypatch.setattr(f"losslab.tracking.outbox.{name}", value)
    yield
    while mlflow.active_run():
        mlflow.end_run()
    mlflow.set_tracking_uri(None)


class Project:
    """A project of two files of configuration; ``run`` calls hooks in the order of KedroSession."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.tracking = folder, Tracking()
        self.conf = CONF.read_text()
        self.hooks: list[Any] = [self.tracking, Summary(self.tracking)]
        (folder / "conf/base").mkdir(parents=True)
        (folder / "conf/base/parameters.yml").write_text(PARAMETERS)

    def run(self, uri: str, *nodes: Node, **data: Any) -> None:
        manager = _create_hook_manager()
        _register_hooks(manager, self.hooks)
        _register_hooks_entry_points(manager, ())
        context = KedroContext(
            self.folder, self._config_loader(uri), None, "losslab", manager, runtime_params=None
        )
        manager.hook.after_context_created(context=context)
        pipeline, catalog = Pipeline(nodes), self._catalog(**data)
        names = ("tags", "node_names", "from_nodes", "to_nodes", "from_inputs", "load_versions")
        run_params = {**dict.fromkeys(names), "pipeline_names": ["db_loss"], "run_id": "now"}
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
        conf = self.conf
        for name, place in places.items():
            assert f"${{losslab.{name}:}}" in conf
            conf = conf.replace(f"${{losslab.{name}:}}", place)
        (self.folder / "conf/base/mlflow.yml").write_text(conf)
        return OmegaConfigLoader(str(self.folder / "conf"), base_env="base", default_run_env="base")

    def _catalog(self, **data: Any) -> DataCatalog:
        recipe = Recipe(name="probe", training=Budget(epochs=4))
        data = {"params:recipe": recipe, "db_loss_decision_rules": {"seeds": {}}, **data}
        data = {name: value for name, value in data.items() if value is not None}
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
    training = "selected by validation macro-F1, epoch 1 of 4; ended by budget"
    assert child.data.tags["training"] == training
    assert child.data.tags["mark"] == "stopped before it had learned"
    assert child.data.metrics == {
        "validation/macro_f1": 0.3,
        "test/macro_f1": 0.5,
        "test/macro_f1_low": 0.4,
        "test/macro_f1_high": 0.6,
        "test/own/macro_f1": 0.45,
        "test/rules/top_k/macro_f1": 0.35,
    }
    assert child.data.params == {  # what led to its metrics, and no soft labels
        "recipe.name": "probe",
        "recipe.training.epochs": "4",
        "seed": "1",
        "loss": "db",
        "loss_options.gamma": "2.0",
    }
    printed = capsys.readouterr().out
    assert "| db " in printed
    assert "kedro mlflow ui" in printed


def test_means_over_seeds_by_rule_are_logged_once_and_intervals_with_every_seed(project, store):
    def seeds(of: dict[str, Any]) -> dict[str, Any]:
        return {**of, "seeds": {"1": of["seeds"]["1"], "2": of["seeds"]["1"]}}

    two = {**seeds(METRICS), "own": seeds(METRICS["own"]), "training": seeds(METRICS["training"])}
    project.run(store, Node(lambda: two, None, "db_loss_metrics", name="evaluate"))
    first, second = (
        next(
            run
            for run in runs_of(store)
            if run.info.run_name == f"db_loss seed {seed} (cwe, probe)"
        )
        for seed in (1, 2)
    )
    assert set(first.data.metrics) - set(second.data.metrics) == {"test/rules/top_k/macro_f1"}
    assert second.data.metrics["test/macro_f1_low"] == 0.4


def test_the_split_corpus_is_the_input_of_every_run(project, store):
    hashes = {"id": "1a", "test": "2b"}
    save = Node(lambda: hashes, None, "data_fingerprint", name="describe_corpus")
    project.run(store, save, TRAIN, EVALUATE)
    for run in runs_of(store):
        (given,) = run.inputs.dataset_inputs
        assert given.dataset.name == "cwe"
        assert json.loads(given.dataset.profile)["hashes"] == hashes
        assert {tag.key: tag.value for tag in given.tags} == {"mlflow.data.context": "training"}
    digests = {run.inputs.dataset_inputs[0].dataset.digest for run in runs_of(store)}
    assert len(digests) == 1


def test_a_diagnosis_is_a_tag_and_an_artifact_of_the_parent(project, store):
    said = {"findings": [{"key": "start", "text": "Start with bce."}, {"key": "x", "text": "And."}]}
    project.run(store, Node(lambda: said, None, "diagnosis", name="diagnose"))
    (parent,) = runs_of(store)
    assert parent.data.tags["diagnosis"] == "Start with bce.\nAnd."
    artifacts = MlflowClient(store).list_artifacts(parent.info.run_id)
    assert [each.path for each in artifacts] == ["diagnosis.json"]


def test_typed_parameters_are_logged_field_by_field(project, store):
    project.run(store, TRAIN, EVALUATE)
    assert runs_of(store)[0].data.params == {"recipe.name": "probe", "recipe.training.epochs": "4"}


def test_training_that_was_not_evaluated_tells_what_it_was_selected_by(project, store):
    with contextlib.suppress(ValueError):
        project.run(store, TRAIN, FAIL)
    _, child = runs_of(store)
    assert child.data.tags["training"].startswith("selected by validation macro-F1, epoch 1 of 4")
    assert "mark" not in child.data.tags


def test_failed_node_fails_parent_and_child(project, store):
    with pytest.raises(ValueError, match="no use for a model"):
        project.run(store, TRAIN, FAIL)
    assert set(statuses(store).values()) == {"FAILED"}
    assert mlflow.active_run() is None


@pytest.mark.parametrize("nodes", [(TRAIN, FAIL_DB), (FAIL_DB,)])
def test_loss_that_fails_has_a_failed_run_with_the_reason(project, store, nodes):
    with pytest.raises(ValueError, match="no use for a model"):
        project.run(store, *nodes, model="model" if len(nodes) == 1 else None)
    parent, child = runs_of(store)
    assert child.info.run_name == "db_loss seed 1 (cwe, probe)"
    assert child.info.status == parent.info.status == "FAILED"
    assert child.data.tags["failure"] == "no use for a model"
    assert child.data.params["loss_options.gamma"] == "2.0"


def test_loss_that_fails_leaves_the_runs_of_others_alone(project, store):
    class GoesOn:
        """Fails one loss, as a runner does that goes on with the others."""

        @hook_impl
        def after_node_run(self, node):
            if node.name == "train":
                project.tracking.fail_loss("bce", "loss is NaN")

    project.hooks.append(GoesOn())
    project.run(store, TRAIN, EVALUATE)
    assert statuses(store) == {
        "db_loss (cwe, probe)": "FINISHED",
        "db_loss seed 1 (cwe, probe)": "FINISHED",
        "bce_loss seed 1 (cwe, probe)": "FAILED",
    }


def test_results_that_were_current_get_a_run_that_says_so(project, store):
    class Current:
        """Finds a node current, as the incremental runner does."""

        @hook_impl
        def before_pipeline_run(self, catalog):
            catalog["db_loss_metrics"] = MemoryDataset(METRICS)
            self.catalog = catalog

        @hook_impl
        def after_node_run(self):
            project.tracking.node_is_current(EVALUATE, self.catalog)

    project.hooks.insert(0, Current())
    project.run(store, Node(lambda: "model", None, "model", name="other"))
    parent, child = runs_of(store)
    assert parent.data.params == {"recipe.name": "probe", "recipe.training.epochs": "4"}
    assert child.data.tags["current"] == "true"
    assert child.data.metrics["test/macro_f1"] == 0.5
    assert child.data.params["loss_options.gamma"] == "2.0"
    assert child.info.status == "FINISHED"
    assert child.data.tags["session"] == "now"


def test_dataset_that_cannot_be_mirrored_costs_a_warning(project, store, caplog):
    project.run(store, TRAIN, Node(lambda model: {}, "model", "label_statistics", name="empty"))
    assert len(mlflow_warnings(caplog)) == 1
    assert statuses(store)["db_loss (cwe, probe)"] == "FINISHED"


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


@pytest.mark.slow  # it waits for servers
@pytest.mark.parametrize("failure", ["500", "closed", "lost"])
@pytest.mark.parametrize(
    "fails_at", ["", "runs/create", "runs/get", "runs/set-tag", "runs/log-batch", "runs/update"]
)
def test_failing_server_costs_one_warning_and_the_next_run_makes_up(
    project, caplog, capsys, failure, fails_at
):
    with serve(FakeServer(failure, fails_at)) as server:
        project.run(server.url, TRAIN, EVALUATE)
        assert server.failed
        assert len(mlflow_warnings(caplog)) == 1
        assert "what it misses is sent later" in mlflow_warnings(caplog)[0]
        assert "| db " in capsys.readouterr().out
        assert mlflow.active_run() is None
        server.heal()
        project.run(server.url, TRAIN, EVALUATE)
    parents, children = by_level(server)
    assert len(parents) == len(children) == 2
    for run in parents + children:
        assert run["info"]["status"] == "FINISHED"
    for run in children:
        assert {"validation/macro_f1", "test/macro_f1"} <= {
            m["key"] for m in run["data"]["metrics"]
        }
    for run in parents:
        assert {"recipe.name", "recipe.training.epochs"} == {
            p["key"] for p in run["data"]["params"]
        }
    assert list((project.folder / OUTBOX).iterdir()) == []


def by_level(server: FakeServer) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Parents and children."""
    levels: tuple[list[dict[str, Any]], list[dict[str, Any]]] = [], []
    for run in server.runs.values():
        levels["mlflow.parentRunId" in {tag["key"] for tag in run["data"]["tags"]}].append(run)
    return levels


@pytest.mark.slow
def test_server_that_hangs_is_waited_for_at_most_once_at_the_end(project, capsys):
    with serve(FakeServer("hangs", "runs/log-batch", spared=1)) as server:
        project.run(server.url, TRAIN, EVALUATE)
        assert len(server.failed) <= 4
        assert f"the next run sends it what it misses ({OUTBOX})" in capsys.readouterr().out
        server.heal()
        project.run(server.url, TRAIN, EVALUATE)
    assert set(server.statuses().values()) == {"FINISHED"}
    assert len(server.runs) == 4


def test_run_interrupted_while_the_server_is_gone_is_killed_by_the_next(project):
    with serve(FakeServer("closed", "runs/log-batch", spared=1)) as server:
        with pytest.raises(KeyboardInterrupt):
            project.run(server.url, TRAIN, INTERRUPT)
        project.tracking._kill()  # what atexit does
        server.heal()
        project.run(server.url, TRAIN, EVALUATE)
    parents, children = by_level(server)
    for level in (parents, children):
        assert [run["info"]["status"] for run in level] == ["KILLED", "FINISHED"]


def test_nodes_ask_the_server_nothing(project):
    inputs = ["model", "params:recipe"]
    more = [Node(evaluate, inputs, f"result_{n}", name=f"evaluate_{n}") for n in range(9)]
    with serve(FakeServer()) as server:
        project.run(server.url, TRAIN)
        few = len(server.requests)
        project.run(server.url, TRAIN, *more)
    assert len(server.requests) - few <= few


def test_failing_server_does_not_hide_the_error_of_a_node(project):
    with (
        serve(FakeServer("500", "runs/update")) as server,
        pytest.raises(ValueError, match="no use for a model"),
    ):
        project.run(server.url, TRAIN, FAIL)
    assert server.failed


def test_run_that_mlflow_yml_excludes_is_not_tracked(project, store, capsys):
    option = "  disable_tracking: {pipelines: [db_loss]}\n"
    project.conf = project.conf.replace("tracking:\n", f"tracking:\n{option}", 1)
    project.run(store, TRAIN, EVALUATE)
    assert runs_of(store) == []
    assert "not tracked" in capsys.readouterr().out


def test_wrong_mlflow_yml_costs_a_warning(project, store, caplog):
    project.conf += "\nno_such_option: 1\n"
    project.run(store, TRAIN, EVALUATE)
    assert ["no_such_option" in warning for warning in mlflow_warnings(caplog)] == [True]


def test_failing_server_does_not_skip_the_selection_of_pipelines(project, monkeypatch):
    registry: dict[str, Pipeline] = {}
    monkeypatch.setattr("losslab.hooks.selection.pipelines", registry)
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
