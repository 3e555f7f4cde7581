import itertools
import json
from pathlib import Path

import pandas as pd
import pytest
from mlflow.tracking import MlflowClient

from losslab.tracking import (
    PARENT,
    PROCESS_TAG,
    Journal,
    MlflowSender,
    TrainingRuns,
    describe_process,
    describe_source,
    process_is_alive,
    save_view,
    view_address,
)
from losslab.tracking.outbox import RefusedError
from losslab.tracking.training_runs import as_params, as_text


@pytest.fixture(scope="module")
def client(tmp_path_factory) -> MlflowClient:
    return MlflowClient(f"sqlite:///{tmp_path_factory.mktemp('mlflow')}/mlflow.db")


@pytest.fixture
def sender(client, tmp_path, request) -> MlflowSender:
    """Of an experiment of the test's own."""
    name = request.node.name
    client.create_experiment(name, artifact_location=(tmp_path / "artifacts").as_uri())
    header = {"tracking_uri": client.tracking_uri, "experiment": name, "id": name}
    return MlflowSender(client.tracking_uri, header, tmp_path / "outbox")


@pytest.fixture
def runs(sender) -> TrainingRuns:
    """Sent without an outbox."""
    tags = {"dataset": "cwe", "recipe": "probe", PROCESS_TAG: describe_process()}
    runs = TrainingRuns(
        lambda operation: sender.send([operation], again=False),
        tags=tags,
        colours={"db": "#123456"},
    )
    runs.open_parent("parent", {"pipeline_names": ["db_loss"]})
    return runs


def children(client, sender):
    parent = f"tags.`mlflow.parentRunId` = '{sender.known_id(PARENT)}'"
    return {run.info.run_name: run for run in client.search_runs([sender.experiment_id], parent)}


CHILD = "db_loss seed 1 (cwe, probe)"


def test_a_training_gets_a_nested_run_with_tags_and_flat_parameters(client, sender, runs):
    runs.start("db", 2, {"loss_options": {"gamma": 1.5}, "seeds": 3})
    runs.start("db", 2, {"loss_options": {"gamma": 1.5}, "seeds": 3})
    (run,) = children(client, sender).values()
    assert run.info.status == "RUNNING"
    assert run.data.params == {"loss_options.gamma": "1.5", "seeds": "3"}
    assert {"loss": "db", "seed": "2", "dataset": "cwe"}.items() <= run.data.tags.items()
    assert run.data.tags["mlflow.runColor"] == "#123456"
    assert "current" not in run.data.tags


def test_parent_has_the_tags_of_its_children_and_its_own(client, sender, runs):
    runs.log_parent_params({"recipe": {"name": "probe"}, "a:b": 1})
    runs.end_parent("FAILED")
    parent = client.get_run(sender.known_id(PARENT))
    assert parent.info.run_name == "parent"
    assert {"dataset": "cwe", "pipeline_names": "['db_loss']"}.items() <= parent.data.tags.items()
    assert parent.data.params == {"recipe.name": "probe", "a_b": "1"}
    assert parent.info.status == "FAILED"


def test_curve_is_logged_and_the_run_ends_with_its_last_epoch(client, sender, runs):
    runs.start("db", 1, {})
    for epoch in (1, 2):
        runs.log_metrics("db", 1, epoch, {"validation/macro_f1": epoch / 10})
    runs.finish("db", 1, "FINISHED")
    run = children(client, sender)[CHILD]
    history = client.get_metric_history(run.info.run_id, "validation/macro_f1")
    assert [(point.step, point.value) for point in history] == [(1, 0.1), (2, 0.2)]
    assert run.info.status == "FINISHED"
    assert run.info.end_time == history[-1].timestamp


def test_long_curve_has_fewer_points_and_its_last_evaluation(client, sender, runs):
    runs.start("db", 1, {})
    for epoch in range(1, 400):
        runs.log_metrics("db", 1, epoch, {"validation/macro_f1": epoch / 1000})
    runs.finish("db", 1, "FINISHED", {"test/macro_f1": 0.5})
    run = children(client, sender)[CHILD]
    history = client.get_metric_history(run.info.run_id, "validation/macro_f1")
    steps = [point.step for point in history]
    assert steps[:20] == list(range(1, 21))
    assert 50 < len(steps) < 80
    assert max(b - a for a, b in itertools.pairwise(steps)) <= 32
    assert (steps[-1], history[-1].value) == (399, 0.399)
    assert run.data.metrics == {"validation/macro_f1": 0.399, "test/macro_f1": 0.5}


def test_open_runs_are_all_closed_with_one_status(client, sender, runs):
    runs.start("db", 1, {})
    runs.start("bce", 1, {})
    runs.finish("bce", 1, "FINISHED")
    runs.finish_all("KILLED")
    statuses = {name: run.info.status for name, run in children(client, sender).items()}
    assert statuses == {CHILD: "KILLED", "bce_loss seed 1 (cwe, probe)": "FINISHED"}


def test_failed_loss_gets_the_reason_and_leaves_the_others_alone(client, sender, runs):
    runs.start("db", 1, {})
    runs.finish("db", 1, "FINISHED")
    for loss, seed in (("db", 2), ("bce", 1)):
        runs.start(loss, seed, {})
    runs.fail("db", "loss is NaN")
    failed = {
        name: (run.info.status, run.data.tags.get("failure"))
        for name, run in children(client, sender).items()
    }
    assert failed == {
        CHILD: ("FINISHED", "loss is NaN"),
        "db_loss seed 2 (cwe, probe)": ("FAILED", "loss is NaN"),
        "bce_loss seed 1 (cwe, probe)": ("RUNNING", None),
    }


def test_tables_dictionaries_and_texts_become_artifacts(client, sender, runs, tmp_path):
    runs.start("db", 1, {})
    runs.log_artifact({"a": 1}, "thresholds.json", ("db", 1))
    runs.log_artifact(pd.DataFrame({"loss": ["db"]}), "comparison.csv")
    runs.log_artifact("<p>", "report.html")
    child = children(client, sender)[CHILD].info.run_id

    def read(run_id):
        files = client.list_artifacts(run_id)
        copies = [client.download_artifacts(run_id, file.path, str(tmp_path)) for file in files]
        return {file.path: Path(copy).read_text() for file, copy in zip(files, copies, strict=True)}

    assert json.loads(read(child)["thresholds.json"]) == {"a": 1}
    table = '"loss"\n"db"\n'
    assert read(sender.known_id(PARENT)) == {"comparison.csv": table, "report.html": "<p>"}


def test_experiment_that_does_not_exist_is_created(client, tmp_path):
    header = {"experiment": "new", "artifact_location": tmp_path.as_uri(), "id": "1"}
    sender = MlflowSender(client.tracking_uri, header)
    TrainingRuns(lambda one: sender.send([one], again=False), tags={}).open_parent("parent", {})
    assert client.get_experiment_by_name("new").experiment_id == sender.experiment_id


def test_deleted_experiment_refuses_its_runs(client, sender):
    client.delete_experiment(
        client.get_experiment_by_name(sender._header["experiment"]).experiment_id
    )
    runs = TrainingRuns(lambda one: sender.send([one], again=False), tags={})
    with pytest.raises(RefusedError, match="active"):
        runs.open_parent("parent", {})


def test_runs_of_dead_processes_are_marked_killed_and_others_left_alone(client, sender, runs):
    host, pid, started = describe_process().rsplit(":", 2)

    def create(**tags):
        return client.create_run(sender.experiment_id, tags=tags).info.run_id

    dead = create(**{PROCESS_TAG: f"{host}:{pid}:{int(started) - 999}"})
    waiting = create(**{PROCESS_TAG: f"{host}:{pid}:{int(started) - 888}"})
    create(**{PROCESS_TAG: f"elsewhere:{pid}:{started}"})
    create()
    header = {"tracking_uri": client.tracking_uri, "process": f"{host}:{pid}:{int(started) - 888}"}
    Journal.create(sender._folder, header).close()
    runs.start("db", 1, {})
    sender.send([{"do": "tidy"}], again=False)
    status = {
        run.info.run_id: run.info.status for run in client.search_runs([sender.experiment_id])
    }
    assert status.pop(dead) == "KILLED"
    assert set(status.values()) == {"RUNNING"}
    assert waiting in status  # its journal knows more


def test_this_process_process_is_alive():
    assert process_is_alive(describe_process())


def test_source_names_the_command_and_the_commit(tmp_path):
    source = describe_source(tmp_path)
    assert source["git_commit"] == "unknown"
    assert source["git_dirty"] == "unknown"
    assert source["command"]


def test_a_dataset_is_the_input_of_runs_before_and_after_and_sending_it_twice_does_no_harm(
    client, sender, runs
):
    operations = []
    sent = TrainingRuns(operations.append, tags={"dataset": "cwe", "recipe": "probe"})
    sent.start("db", 1, {})
    sent.finish("db", 1, "FINISHED")
    sent.use_dataset("cwe", "1a2b", source="data/01_raw/cwe", facts={"documents": 3})
    sent.start("db", 2, {})
    for operation in operations + [each for each in operations if each["do"] == "input"]:
        sender.send([operation], again=False)
    every = [client.get_run(sender.known_id(PARENT)), *children(client, sender).values()]
    assert len(every) == 3
    for run in every:
        (given,) = run.inputs.dataset_inputs
        assert (given.dataset.name, given.dataset.digest) == ("cwe", "1a2b")
        assert json.loads(given.dataset.source) == {"uri": "data/01_raw/cwe"}
        assert json.loads(given.dataset.profile) == {"documents": 3}


def test_what_is_not_set_is_no_parameter():
    assert as_params({"split": {"folds": None, "seed": 0}, "reader": None}) == {"split.seed": "0"}


def test_long_values_are_cut_to_what_mlflow_takes():
    assert 0 < len(as_params({"text": "x" * 10_000})["text"]) < 10_000


def test_view_with_the_columns_to_compare_is_saved_once_and_keeps_a_users_note(client):
    experiment = client.create_experiment("view")
    client.set_experiment_tag(experiment, "mlflow.note.content", "mine")
    save_view(client, experiment)
    first = client.get_experiment(experiment).tags
    save_view(client, experiment)
    assert client.get_experiment(experiment).tags == first
    assert first["mlflow.note.content"] == "mine"
    state = json.loads(json.loads(first["mlflow.sharedViewState.losses"])["state"])
    assert {"tags.`loss`", "metrics.`test/macro_f1`"} <= set(state["selectedColumns"])
    assert "viewStateShareKey=losses" in view_address(experiment)
    charts = [(chart["type"], chart["metricKey"]) for chart in state["compareRunCharts"]]
    assert charts[:2] == [("BAR", "test/macro_f1"), ("BAR", "test/tail/macro_f1")]
    assert ("LINE", "validation/macro_f1") in charts
    sections = {section["uuid"] for section in state["compareRunSections"]}
    assert {chart["metricSectionId"] for chart in state["compareRunCharts"]} == sections


def test_table_sent_as_csv_has_no_formulas():
    assert as_text(pd.DataFrame({"label": ["=1+1", "a"]})) == '"label"\n"\'=1+1"\n"a"\n'
