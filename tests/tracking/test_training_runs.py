import io
import json
import logging

import pytest
from mlflow.tracking import MlflowClient
from PIL import Image

from losslab.tracking import (
    PROCESS_TAG,
    TrainingRuns,
    describe_process,
    describe_source,
    save_view,
    still_runs,
    view_address,
)
from losslab.tracking.mirror import as_params


@pytest.fixture(scope="module")
def client(tmp_path_factory) -> MlflowClient:
    return MlflowClient(f"sqlite:///{tmp_path_factory.mktemp('mlflow')}/mlflow.db")


@pytest.fixture
def runs(client, tmp_path, request) -> TrainingRuns:
    experiment = client.create_experiment(request.node.name, artifact_location=tmp_path.as_uri())
    parent = client.create_run(experiment).info.run_id
    tags = {"dataset": "cwe", "recipe": "probe", PROCESS_TAG: describe_process()}
    return TrainingRuns(client, experiment, parent, tags=tags, colours={"db": "#123456"})


def children(client, runs):
    found = client.search_runs([runs._experiment], f"tags.`mlflow.parentRunId` = '{runs._parent}'")
    return {run.info.run_name: run for run in found}


def test_a_training_gets_a_nested_run_with_tags_and_flat_parameters(client, runs):
    runs.start("db", 2, {"loss_options": {"gamma": 1.5}, "seeds": 3})
    runs.start("db", 2, {"loss_options": {"gamma": 1.5}, "seeds": 3})
    (run,) = children(client, runs).values()
    assert run.info.status == "RUNNING"
    assert run.data.params == {"loss_options.gamma": "1.5", "seeds": "3"}
    assert {"loss": "db", "seed": "2", "dataset": "cwe"}.items() <= run.data.tags.items()
    assert run.data.tags["mlflow.runColor"] == "#123456"


def test_figures_are_written_when_the_training_finishes(client, runs):
    runs.start("db", 1, {})
    for epoch in (1, 2):
        runs.log("db", 1, epoch, {"validation/macro_f1": epoch / 10})
    runs.finish("db", 1, "FINISHED")
    run = children(client, runs)["db_loss seed 1 (cwe, probe)"]
    history = client.get_metric_history(run.info.run_id, "validation/macro_f1")
    assert [(point.step, point.value) for point in history] == [(1, 0.1), (2, 0.2)]
    assert run.info.status == "FINISHED"
    assert run.info.end_time == history[-1].timestamp


def test_figures_appear_while_the_training_goes_on(client, runs, monkeypatch):
    monkeypatch.setattr("losslab.tracking.mirror.SECONDS_BETWEEN_WRITES", -1)
    runs.start("db", 1, {})
    runs.log("db", 1, 1, {"train/loss": 0.5})
    assert children(client, runs)["db_loss seed 1 (cwe, probe)"].data.metrics == {"train/loss": 0.5}


def test_open_runs_are_all_closed_with_one_status(client, runs):
    runs.start("db", 1, {})
    runs.start("bce", 1, {})
    runs.finish_all("KILLED")
    assert {run.info.status for run in children(client, runs).values()} == {"KILLED"}


def test_pictures_become_artifacts(client, runs):
    picture = io.BytesIO()
    Image.new("RGB", (2, 2)).save(picture, format="png")
    runs.start("db", 1, {})
    runs.keep_pictures({"curve": picture.getvalue()}, ("db", 1))
    runs.keep_pictures({"all": picture.getvalue()})
    run = children(client, runs)["db_loss seed 1 (cwe, probe)"]
    shared = client.list_artifacts(runs._parent)
    assert [file.path for file in shared] == ["all.png"]
    assert [f.path for f in client.list_artifacts(run.info.run_id)] == ["curve.png"]


def test_a_failing_server_is_told_once_and_does_not_raise(client, runs, caplog):
    runs.start("db", 1, {})
    broken = lambda *_, **__: (_ for _ in ()).throw(ConnectionError("gone"))  # noqa: E731
    with caplog.at_level(logging.WARNING):
        assert runs.attempt(broken) is None
        runs.log("db", 1, 1, {"train/loss": 0.5})
        runs.finish_all("FINISHED")
    assert [record.getMessage() for record in caplog.records] == [
        "MLflow failed, tracking is off for the rest of this run: gone"
    ]


def test_a_run_ends_truthfully_though_mirroring_it_failed(client, runs):
    runs.start("db", 1, {})
    runs.attempt(lambda: 1 / 0)
    runs.finish_all("FAILED")
    assert [run.info.status for run in children(client, runs).values()] == ["FAILED"]


def test_runs_of_dead_processes_are_marked_killed_and_others_left_alone(client, runs):
    host, pid, started = describe_process().rsplit(":", 2)
    dead = client.create_run(
        runs._experiment, tags={PROCESS_TAG: f"{host}:{pid}:{int(started) - 999}"}
    )
    foreign = client.create_run(runs._experiment, tags={PROCESS_TAG: f"elsewhere:{pid}:{started}"})
    unknown = client.create_run(runs._experiment)
    runs.start("db", 1, {})
    runs.end_orphans()
    status = {run.info.run_id: run.info.status for run in client.search_runs([runs._experiment])}
    assert status.pop(dead.info.run_id) == "KILLED"
    assert set(status.values()) == {"RUNNING"}
    assert {foreign.info.run_id, unknown.info.run_id} <= set(status)


def test_this_process_still_runs():
    assert still_runs(describe_process())


def test_source_names_the_command_and_the_commit(tmp_path):
    source = describe_source(tmp_path)
    assert source["git_commit"] == "unknown"
    assert source["git_dirty"] == "unknown"
    assert source["command"]


def test_long_values_are_cut_to_what_mlflow_takes():
    (param,) = as_params({"text": "x" * 10_000})
    assert 0 < len(param.value) < 10_000


def test_view_with_the_columns_to_compare_is_saved_once_and_keeps_a_users_note(client, runs):
    client.set_experiment_tag(runs._experiment, "mlflow.note.content", "mine")
    save_view(client, runs._experiment)
    first = client.get_experiment(runs._experiment).tags
    save_view(client, runs._experiment)
    assert client.get_experiment(runs._experiment).tags == first
    assert first["mlflow.note.content"] == "mine"
    state = json.loads(json.loads(first["mlflow.sharedViewState.losses"])["state"])
    assert {"tags.`loss`", "metrics.`test/macro_f1`"} <= set(state["selectedColumns"])
    assert "viewStateShareKey=losses" in view_address(runs._experiment)
