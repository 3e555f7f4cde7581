"""Whole commands, run again: only what changed is computed, and no run reads another's data."""

import json
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import (
    ROOT,
    command,
    environment,
    invoker_in,
    make_small_project,
    newest,
    read_json,
    runner_in,
)
from mlflow.tracking import MlflowClient

from losslab.losses import LOSSES
from losslab.runners import locked

pytestmark = pytest.mark.slow
RUN = ("run", "--verbose", "--env=test", "--losses=bce,db")


@pytest.fixture(scope="module")
def finished(tmp_path_factory, mlflow_store, module_patch):
    """A project after ``kedro run``."""
    folder = make_small_project(tmp_path_factory.mktemp("incremental") / "project", mlflow_store)
    done = invoker_in(folder, module_patch)(*RUN)
    assert done.exit_code == 0, done.output
    return folder


@pytest.fixture
def project(finished, tmp_path):
    """A copy of it, for a test to change."""
    return shutil.copytree(finished, tmp_path / "project", symlinks=True)


def computed(caplog):
    """The nodes that were computed, by the end of their names."""
    words = [record.getMessage() for record in caplog.records]
    names = [word.split()[2] for word in words if word.startswith("Completed node: ")]
    caplog.clear()
    return {".".join(name.split(".")[-2:]) for name in names}


def scores_of(project, loss="db"):
    return read_json(project / f"data/08_reporting/cwe/probe/{loss}_loss/metrics.json")["mean"]


def test_nothing_changed_nothing_computed_and_mlflow_has_a_run_with_the_metrics(
    project, invoke, caplog
):
    before = scores_of(project)
    files = {path for path in (project / "data").rglob("*") if path.is_file()}
    done = invoke(*RUN)
    assert done.exit_code == 0, done.output
    assert computed(caplog) == set()
    assert {path for path in (project / "data").rglob("*") if path.is_file()} == files
    assert "| db " in done.output
    client = MlflowClient(f"sqlite:///{project}/mlflow.db")
    experiment = client.get_experiment_by_name("losslab")
    runs = client.search_runs([experiment.experiment_id], "tags.loss = 'db'")
    assert len(runs) == 2
    assert [run.data.metrics["test/macro_f1"] for run in runs] == [before["macro_f1"]] * 2
    assert sorted(run.data.tags.get("current", "") for run in runs) == ["", "true"]


def test_parameter_of_a_loss_trains_that_loss_and_reports_again(project, invoke, caplog):
    told = invoke("explain", *RUN[1:], "--params=db_loss.gamma=1").output
    assert "db_loss: stale: parameter db_loss.gamma 2.0 -> 1.0" in told
    assert "bce_loss: current" in told
    assert computed(caplog) == set()
    assert invoke(*RUN, "--params=db_loss.gamma=1").exit_code == 0
    done = computed(caplog)
    assert {name for name in done if not name.startswith("reporting.")} == {
        f"db_loss.{node}"
        for node in (
            "train",
            "score",
            "fit_rules",
            "predict_labels",
            "evaluate",
            "find_errors",
            "draw_score_curves",
        )
    }
    assert "reporting.render_report" in done


def test_parameter_of_the_report_leaves_losses_alone(project, invoke, caplog):
    assert invoke(*RUN, "--params=report.reference=db").exit_code == 0
    assert {name.split(".")[0] for name in computed(caplog)} == {"reporting"}


def test_changed_raw_file_runs_everything_again(project, invoke, caplog):
    file = project / "data/01_raw/cwe/2000.csv"
    file.write_text(file.read_text().replace("is handled badly", "is not handled at all"))
    assert "data: stale: input raw_files changed" in invoke("explain", *RUN[1:]).output
    assert invoke(*RUN).exit_code == 0
    assert {"data.parse_corpus", "bce_loss.train", "db_loss.train"} <= computed(caplog)


def test_changed_code_of_a_loss_trains_that_loss_alone(project, tmp_path):
    source = shutil.copytree(ROOT / "src", tmp_path / "src")
    file = source / "losslab/losses/balanced.py"
    lines = file.read_text().splitlines()
    index = next(
        i for i, line in enumerate(lines) if line.startswith("class DistributionBalancedLoss")
    )
    lines.insert(index + 1, "    changed = 1")
    file.write_text("\n".join(lines))
    done = runner_in(project)("explain", *RUN[1:], PYTHONPATH=str(source))
    assert "db_loss: stale: code of losslab.losses.balanced changed" in done.stdout, done.stderr
    assert "bce_loss: current" in done.stdout


def test_part_of_a_pipeline_with_other_parameters_upstream_is_refused(project, invoke):
    words = ("--params=recipes.probe.training.epochs=2", "--from-nodes=db_loss.score")
    done = invoke("run", "--verbose", "--env=test", "--pipelines=db_loss", *words)
    assert done.exit_code == 1
    last = done.stderr.strip().splitlines()[-1]
    assert " was made with training.epochs 4, this run has 2: run the nodes before it" in last


def test_part_of_a_pipeline_after_an_interrupted_run_is_refused(project, invoke):
    """Old scores against new splits: the measured case was 0.368 instead of 0.470."""
    words = ("--env=test", "--params=split.seed=5")
    assert invoke("run", "--pipelines=db_loss", *words).exit_code == 0
    file = project / "data/01_raw/cwe/2000.csv"
    before = file.read_text()
    file.write_text(before.replace("Fault 7", "Fault seven"))
    assert invoke("run", "--pipelines=data", *words).exit_code == 0
    done = invoke("run", "--pipelines=db_loss", *words, "--from-nodes=db_loss.evaluate")
    assert done.exit_code == 1
    told = done.stderr.strip().splitlines()[-1]
    assert "made of other raw_files" in told or "do not belong together" in told


@pytest.mark.parametrize(
    "dataset",
    [
        "02_intermediate/cwe/documents.parquet",
        "03_primary/cwe/label_matrix.npz",
        "04_feature/cwe/label_statistics.json",
        "04_feature/cwe/probe/features.safetensors",
        "06_models/cwe/probe/db_loss/model.safetensors",
        "07_model_output/cwe/probe/db_loss/scores.safetensors",
        "07_model_output/cwe/probe/db_loss/predictions.safetensors",
        "08_reporting/cwe/probe/comparison.csv",
    ],
)
def test_flipped_byte_is_noticed_and_mended(project, invoke, caplog, dataset):
    before = scores_of(project)
    file = newest(project / "data" / dataset)
    content = file.read_bytes()
    file.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    done = invoke(*RUN)
    assert done.exit_code == 0, done.output
    assert f"passed over: {file} is broken" in caplog.text
    assert len(computed(caplog)) >= 1
    assert scores_of(project) == before
    assert newest(project / "data" / dataset).read_bytes() == content


def test_loss_that_raises_costs_the_others_nothing(project, invoke, monkeypatch):
    def broken(self, logits, targets, context):
        raise RuntimeError("an error of its own")

    monkeypatch.setattr(LOSSES["focal"], "compute", broken)
    done = invoke("run", "--verbose", "--env=test", "--losses=bce,focal,zlpr")
    check_failure(project, done, "RuntimeError: an error of its own")


def test_loss_that_turns_nan_costs_the_others_nothing(project, invoke, monkeypatch):
    def nan(self, logits, targets, context):
        return logits.sum() * float("nan")

    monkeypatch.setattr(LOSSES["focal"], "compute", nan)
    done = invoke("run", "--verbose", "--env=test", "--losses=bce,focal,zlpr")
    check_failure(project, done, "focal, seed 1, step 1: the loss is nan")


def test_only_loss_of_its_family_that_fails_costs_the_others_nothing(project, invoke, monkeypatch):
    def broken(self, logits, targets, context):
        raise RuntimeError("an error of its own")

    monkeypatch.setattr(LOSSES["focal"], "compute", broken)
    words = ("--losses=focal,zlpr", "--params=report.reference=focal")
    check_failure(project, invoke("run", "--verbose", "--env=test", *words), "an error of its own")


def test_losses_taught_by_a_loss_that_failed_are_failed_in_mlflow_too(project, invoke, monkeypatch):
    def broken(self, logits, targets, context):
        raise RuntimeError("an error of its own")

    monkeypatch.setattr(LOSSES["bce"], "compute", broken)
    words = ("--fresh", "--losses=bce,ls_distill,zlpr")
    assert invoke("run", "--verbose", "--env=test", *words).exit_code == 1
    client = MlflowClient(f"sqlite:///{project}/mlflow.db")
    experiment = client.get_experiment_by_name("losslab").experiment_id
    newest_first = client.search_runs([experiment], "tags.loss != ''", max_results=3)
    statuses = {run.data.tags["loss"]: run.info.status for run in newest_first}
    assert statuses == {"bce": "FAILED", "ls_distill": "FAILED", "zlpr": "FINISHED"}


def test_part_of_a_pipeline_after_a_change_of_raw_files_is_refused(project, invoke):
    file = project / "data/01_raw/cwe/2000.csv"
    file.write_text(file.read_text().replace("Fault 7", "Fault seven"))
    done = invoke(
        "run", "--verbose", "--env=test", "--pipelines=db_loss", "--from-nodes=db_loss.train"
    )
    assert done.exit_code == 1
    assert "was made of other raw_files" in done.stderr.strip().splitlines()[-1]


def test_report_alone_after_a_change_of_raw_files_and_a_whole_run(project, invoke):
    file = project / "data/01_raw/cwe/2000.csv"
    file.write_text(file.read_text().replace("Fault 7", "Fault seven"))
    assert invoke(*RUN).exit_code == 0
    done = invoke(*RUN, "--pipelines=report")
    assert done.exit_code == 0, done.output


def check_failure(project, done, reason):
    """``focal`` is told as failed; the others are evaluated and compared."""
    assert done.exit_code == 1
    assert reason in done.stderr.strip().splitlines()[-1]
    assert "| zlpr " in done.output
    assert "| focal | failed: " in done.output
    reports = project / "data/08_reporting/cwe/probe"
    assert reason in read_json(reports / "failed_losses.json")["focal"]
    page = (reports / "latest.html").read_text()
    assert "<b>focal</b> failed" in page
    table = newest(reports / "comparison.csv").read_text()
    assert "zlpr" in table
    assert "focal" not in table


def test_two_runs_at_once_keep_their_own_numbers(finished, tmp_path):
    """In random offsets, with different parameters, in one checkout."""
    options = {"one": "--params=db_loss.gamma=5", "two": "--params=recipes.probe.training.epochs=2"}
    words = ("run", "--verbose", "--env=test", "--pipelines=db_loss")
    alone = {}
    for name, option in options.items():
        folder = shutil.copytree(finished, tmp_path / name, symlinks=True)
        assert runner_in(folder)(*words, option).returncode == 0
        alone[name] = scores_of(folder)
    assert alone["one"] != alone["two"]
    folder = shutil.copytree(finished, tmp_path / "both", symlinks=True)
    together, processes, offsets = {}, {}, np.random.default_rng(7)
    for name, option in options.items():
        processes[name] = subprocess.Popen(command(*words, option), cwd=folder, env=environment())
        time.sleep(2 * offsets.random())
    for name, process in processes.items():
        assert process.wait(timeout=300) == 0, name
    for file in (folder / "data/08_reporting/cwe/probe/db_loss/metrics.json").glob(
        "*/metrics.json"
    ):
        metrics = json.loads(file.read_text())
        if metrics["options"]["gamma"] == 5.0:
            together["one"] = metrics["mean"]
        elif metrics["conditions"]["recipe"]["training"]["epochs"] == 2:
            together["two"] = metrics["mean"]
    assert together == alone


def test_same_run_twice_at_once_computes_once(finished, tmp_path):
    folder = shutil.copytree(finished, tmp_path / "project", symlinks=True)
    words = command(
        "run", "--verbose", "--env=test", "--pipelines=db_loss", "--params=db_loss.gamma=3"
    )
    processes = [
        subprocess.Popen(
            words,
            cwd=folder,
            env=environment(),
            text=True,
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        for _ in range(2)
    ]
    told = [process.communicate(timeout=300)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    trained = [text for text in told if "training starts" in text]
    assert len(trained) == 1 or "waiting for process" not in "".join(told)
    assert not list(Path(folder / "data").rglob("*.lock"))


def test_prune_removes_what_nothing_refers_to(project, invoke):
    assert (
        invoke(
            "run", "--verbose", "--env=test", "--pipelines=db_loss", "--params=db_loss.gamma=1"
        ).exit_code
        == 0
    )
    told = invoke("prune", "--keep=1", "--dry-run").output
    assert told.startswith("would remove 0 of ")
    client = MlflowClient(f"sqlite:///{project}/mlflow.db")
    assert (
        invoke(
            "run", "--verbose", "--env=test", "--pipelines=db_loss", "--params=db_loss.gamma=3"
        ).exit_code
        == 0
    )
    before = set((project / "data").rglob("*"))
    done = invoke("prune", "--keep=1")
    assert done.exit_code == 0, done.output
    gone = {path.parent.parent.name for path in before - set((project / "data").rglob("*"))}
    assert {"scores.safetensors", "predictions.safetensors"} <= gone
    assert "metrics.json" not in gone
    for run in client.search_runs([client.get_experiment_by_name("losslab").experiment_id]):
        client.delete_run(run.info.run_id)
    done = invoke("prune", "--keep=1")
    assert len(list(project.glob("data/**/db_loss/metrics.json/*/metrics.json"))) == 2
    assert invoke(*RUN).exit_code == 0


def test_own_file_that_changed_is_read_again(project, invoke):
    table = project / "my.csv"
    rows = [f'text {n} on a,"x"' if n % 2 else f'text {n} on b,"x,y"' for n in range(40)]
    table.write_text("\n".join(["text,labels", *rows]))
    words = ("--env=test", "--pipelines=data", "--dataset=own", "--params=corpus.file=my.csv")
    assert invoke("run", *words).exit_code == 0
    assert invoke("explain", *words).output == "data: current\n"
    table.write_text(table.read_text().replace("text 3 on a", "another text"))
    assert "stale: parameter content of corpus.file " in invoke("explain", *words).output


def test_prune_waits_for_no_run_and_asks_mlflow_first(project, invoke, monkeypatch):
    with locked(project / "data/.runs", "1", "kedro run"):
        done = invoke("prune")
    assert done.exit_code == 1
    assert "is running: prune when it has ended" in done.stderr
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    done = invoke("prune")
    assert done.exit_code == 1
    assert done.stderr.startswith("Error: MLflow does not tell which runs it has")


def test_fold_of_a_loss_that_failed_is_missing_from_the_comparison(project, invoke, monkeypatch):
    words = ("cross-validate", "--env=test", "--folds=2", "--losses=bce,focal")
    assert invoke(*words).exit_code == 0

    def broken(self, logits, targets, context):
        raise RuntimeError("an error of its own")

    monkeypatch.setattr(LOSSES["focal"], "compute", broken)
    done = invoke(*words, "--fresh")
    assert done.exit_code == 1
    assert "no 1, 2" in done.stdout
    assert "an error of its own" in done.stderr.strip().splitlines()[-1]
