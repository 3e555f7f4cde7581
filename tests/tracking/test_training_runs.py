import json
import logging
from pathlib import Path

import pandas as pd
import pytest
from mlflow.tracking import MlflowClient

from losslab.tracking import (
    PROCESS_TAG,
    TrainingRuns,
    describe_process,
    describe_source,
    process_is_alive,
    save_view,
    view_address,
)
from losslab.tracking.training_runs import as_params


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
    parent = f"tags.`mlflow.parentRunId` = '{runs.parent_id}'"
    return {run.info.run_name: run for run in client.search_runs([runs.experiment_id], parent)}


def test_a_training_gets_a_nested_run_with_tags_and_flat_parameters(client, runs):
    runs.start("db", 2, {"loss_options": {"gamma": 1.5}, "seeds": 3})
    runs.start("db", 2, {"loss_options": {"gamma": 1.5}, "seeds": 3})
    (run,) = children(client, runs).values()
    assert run.info.status == "RUNNING"
    assert run.data.params == {"loss_options.gamma": "1.5", "seeds": "3"}
    assert {"loss": "db", "seed": "2", "dataset": "cwe"}.items() <= run.data.tags.items()
    assert run.data.tags["mlflow.runColor"] == "#123456"


def test_metrics_are_written_when_the_training_finishes(client, runs):
    runs.start("db", 1, {})
    for epoch in (1, 2):
        runs.log_metrics("db", 1, epoch, {"validation/macro_f1": epoch / 10})
    runs.finish("db", 1, "FINISHED")
    run = children(client, runs)["db_loss seed 1 (cwe, probe)"]
    history = client.get_metric_history(run.info.run_id, "validation/macro_f1")
    assert [(point.step, point.value) for point in history] == [(1, 0.1), (2, 0.2)]
    assert run.info.status == "FINISHED"
    assert run.info.end_time == history[-1].timestamp


def test_metrics_appear_while_the_training_goes_on(client, runs, monkeypatch):
    monkeypatch.setattr("losslab.tracking.training_runs.SECONDS_BETWEEN_WRITES", -1)
    runs.start("db", 1, {})
    runs.log_metrics("db", 1, 1, {"train/loss": 0.5})
    assert children(client, runs)["db_loss seed 1 (cwe, probe)"].data.metrics == {"train/loss": 0.5}


def test_open_runs_are_all_closed_with_one_status(client, runs):
    runs.start("db", 1, {})
    runs.start("bce", 1, {})
    runs.finish_all("KILLED")
    assert {run.info.status for run in children(client, runs).values()} == {"KILLED"}


def test_tables_dictionaries_and_texts_become_artifacts(client, runs, tmp_path):
    runs.start("db", 1, {})
    runs.log_artifact({"a": 1}, "thresholds.json", ("db", 1))
    runs.log_artifact(pd.DataFrame({"loss": ["db"]}), "comparison.csv")
    runs.log_artifact("<p>", "report.html")
    child = children(client, runs)["db_loss seed 1 (cwe, probe)"].info.run_id

    def read(run_id):
        files = client.list_artifacts(run_id)
        copies = [client.download_artifacts(run_id, file.path, str(tmp_path)) for file in files]
        return {file.path: Path(copy).read_text() for file, copy in zip(files, copies, strict=True)}

    assert json.loads(read(child)["thresholds.json"]) == {"a": 1}
    assert read(runs.parent_id) == {"comparison.csv": "loss\ndb\n", "report.html": "<p>"}


def test_data_that_cannot_be_written_is_a_warning(client, runs, caplog):
    runs.log_artifact({"a": object()}, "broken.json")
    assert "MLflow failed, tracking is off" in caplog.text


def test_the_first_failure_is_logged_and_ends_the_mirroring(client, runs, caplog):
    runs.start("db", 1, {})
    with caplog.at_level(logging.WARNING):
        runs.log_artifact({"a": object()}, "broken.json")
        runs.log_metrics("db", 1, 1, {"train/loss": 0.5})
        runs.start("bce", 1, {})
        runs.finish_all("FAILED")
    assert len(caplog.records) == 1
    (run,) = children(client, runs).values()
    assert (run.info.status, run.data.metrics) == ("FAILED", {})


def test_runs_of_dead_processes_are_marked_killed_and_others_left_alone(client, runs):
    host, pid, started = describe_process().rsplit(":", 2)
    dead = client.create_run(
        runs.experiment_id, tags={PROCESS_TAG: f"{host}:{pid}:{int(started) - 999}"}
    )
    foreign = client.create_run(
        runs.experiment_id, tags={PROCESS_TAG: f"elsewhere:{pid}:{started}"}
    )
    unknown = client.create_run(runs.experiment_id)
    runs.start("db", 1, {})
    runs.end_orphans()
    status = {run.info.run_id: run.info.status for run in client.search_runs([runs.experiment_id])}
    assert status.pop(dead.info.run_id) == "KILLED"
    assert set(status.values()) == {"RUNNING"}
    assert {foreign.info.run_id, unknown.info.run_id} <= set(status)


def test_this_process_process_is_alive():
    assert process_is_alive(describe_process())


def test_source_names_the_command_and_the_commit(tmp_path):
    source = describe_source(tmp_path)
    assert source["git_commit"] == "unknown"
    assert source["git_dirty"] == "unknown"
    assert source["command"]


def test_long_values_are_cut_to_what_mlflow_takes():
    (param,) = as_params({"text": "x" * 10_000})
    assert 0 < len(param.value) < 10_000


def test_view_with_the_columns_to_compare_is_saved_once_and_keeps_a_users_note(client, runs):
    client.set_experiment_tag(runs.experiment_id, "mlflow.note.content", "mine")
    save_view(client, runs.experiment_id)
    first = client.get_experiment(runs.experiment_id).tags
    save_view(client, runs.experiment_id)
    assert client.get_experiment(runs.experiment_id).tags == first
    assert first["mlflow.note.content"] == "mine"
    state = json.loads(json.loads(first["mlflow.sharedViewState.losses"])["state"])
    assert {"tags.`loss`", "metrics.`test/macro_f1`"} <= set(state["selectedColumns"])
    assert "viewStateShareKey=losses" in view_address(runs.experiment_id)
