"""Whole commands, run again: only what changed is computed, and no run reads another's data."""

import json
import re
import shutil
import signal
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
    nodes = completed(caplog.text)
    caplog.clear()
    return nodes


def completed(log):
    names = re.findall(r"Completed node: (\S+)", log)
    return {short(name) for name in names}


def short(node):
    return ".".join(node.split(".")[-2:])


def saved_by(project):
    """Every node that saved something, by its manifests."""
    manifests = (project / "data").rglob("manifest.json")
    return {short(json.loads(file.read_text())["provenance"]["node"]) for file in manifests}


OF_A_LOSS = (
    "train",
    "score",
    "fit_rules",
    "predict_labels",
    "evaluate",
    "find_errors",
    "doubt_gold_labels",
    "draw_score_curves",
)
OF_RESULTS = {
    f"reporting.{node}"
    for node in (
        "compare_labels",
        "compare_losses",
        "compare_uncertainty",
        "describe_run",
        "diagnose_losses",
        "gather_tables",
        "list_disagreements",
        "rank_confusions",
        "list_failures",
        "render_report",
    )
}
"""Nodes that read the results of all losses; plots are drawn again only if their tables changed."""


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


def test_checkpoints_that_a_kill_left_after_the_save_are_removed(project, invoke, caplog):
    models = project / "data/06_models/cwe/probe"
    manifest = newest(models / "db_loss/model.safetensors").with_name("manifest.json")
    fingerprint = json.loads(manifest.read_text())["provenance"]["fingerprint"]
    left = models / f"checkpoints/db_loss-{fingerprint[:16]}/db/seed_1/finished"
    left.mkdir(parents=True)
    done = invoke(*RUN)
    assert done.exit_code == 0, done.output
    assert computed(caplog) == set()
    assert not (models / "checkpoints").exists()


def test_parameter_of_a_loss_trains_that_loss_and_reports_again(project, invoke, caplog):
    told = invoke("explain", *RUN[1:], "--params=db_loss.gamma=1").output
    assert "db_loss: stale: parameter db_loss.gamma 2.0 -> 1.0" in told
    assert "bce_loss: current" in told
    assert computed(caplog) == set()
    assert invoke(*RUN, "--params=db_loss.gamma=1").exit_code == 0
    done = computed(caplog)
    assert {name for name in done if not name.startswith("reporting.")} == {
        f"db_loss.{node}" for node in OF_A_LOSS
    }
    assert "reporting.render_report" in done


def test_parameter_of_the_report_leaves_losses_alone(project, invoke, caplog):
    assert invoke(*RUN, "--params=report.reference=db").exit_code == 0
    assert {name.split(".")[0] for name in computed(caplog)} == {"reporting"}


def test_changed_texts_run_everything_that_reads_them_again(project, invoke, caplog):
    file = project / "data/01_raw/cwe/2000.csv"
    file.write_text(file.read_text().replace("is handled badly", "is not handled at all"))
    assert "data: stale: input raw_files changed" in invoke("explain", *RUN[1:]).output
    assert invoke(*RUN).exit_code == 0
    same_inputs = {"supervision.group_labels", "modelling.record_conditions"}  # labels and notes
    assert computed(caplog) == saved_by(project) - same_inputs


def run_with_changed_code(project, folder, file, old, new):
    """Run with a copy of our code in which ``old`` is ``new``; what was logged."""
    source = shutil.copytree(ROOT / "src", folder / "src")
    path = source / "losslab" / file
    assert path.read_text().count(old) == 1
    path.write_text(path.read_text().replace(old, new))
    done = runner_in(project)(*RUN, PYTHONPATH=str(source))
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_changed_code_of_a_loss_trains_that_loss_alone(project, tmp_path):
    old = "class DistributionBalancedLoss(_Rebalanced):"
    new = f"{old}\n    changed = 1"
    log = run_with_changed_code(project, tmp_path, "losses/balanced.py", old, new)
    assert "db_loss: stale: code of losslab.losses.balanced changed\n" in log
    for name in ("data", "features", "supervision", "bce_loss"):
        assert f" {name}: current\n" in log
    again = {
        f"db_loss.{node}"
        for node in OF_A_LOSS
        if node not in ("predict_labels", "find_errors", "doubt_gold_labels")
    }
    assert completed(log) == {*again, *OF_RESULTS, "reporting.draw_trainings"}


def test_changed_code_of_evaluation_trains_nothing(project, tmp_path):
    old, new = "DECILES = 10", "DECILES = 1"
    log = run_with_changed_code(project, tmp_path, "evaluation/error_analysis.py", old, new)
    for loss in ("bce", "db"):
        assert f"{loss}_loss: stale: code of losslab.evaluation.error_analysis changed\n" in log
    assert "training starts" not in log
    assert completed(log) == {"bce_loss.find_errors", "db_loss.find_errors", *OF_RESULTS}


def test_part_of_a_pipeline_with_other_parameters_upstream_is_refused(project, invoke):
    words = ("--params=recipes.probe.training.epochs=2", "--from-nodes=db_loss.score")
    done = invoke("run", "--verbose", "--env=test", "--pipelines=db_loss", *words)
    assert done.exit_code == 1
    last = done.stderr.strip().splitlines()[-1]
    assert " was made with training.epochs 4, this run has 2: run the nodes before it" in last


def test_training_on_features_made_otherwise_is_refused(project, invoke):
    """The measured case: max_length 8 was recorded where features were made with 16.

    A variant of a model has folders of its own, and there are no features in them.
    """
    words = ("--params=recipes.probe.model.max_length=8", "--from-nodes=db_loss.train")
    done = invoke("run", "--env=test", "--pipelines=db_loss", *words)
    assert done.exit_code == 1
    last = done.stderr.strip().splitlines()[-1]
    assert "was saved so far: run the pipeline that makes it" in last
    assert not list(project.glob("data/06_models/cwe/probe-*/**/model.safetensors"))


def test_comparison_of_folds_trained_with_other_parameters_is_refused(project, invoke):
    words = ("--env=test", "--losses=bce")
    assert invoke("cross-validate", "--folds=2", *words).exit_code == 0
    compare = ("run", *words, "--pipelines=cross_validation")
    assert invoke(*compare, "--params=split.folds=2").exit_code == 0
    done = invoke(*compare, "--params=split.folds=2,recipes.probe.training.epochs=2")
    assert done.exit_code == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("Error: bce, fold 1 was made with training.epochs 4, this run has 2")


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


AT_ONCE = {
    "one": "--params=seed=2,db_loss.gamma=5",
    "two": "--params=seed=2,recipes.probe.training.epochs=2",
}
"""Parameters of two runs; both train both losses again."""


def words_at_once(name, workers=1):
    options = ("--pipelines=bce_loss,db_loss", f"--workers={workers}", AT_ONCE[name])
    return ("run", "--verbose", "--env=test", *options)


def result_files(project):
    return set(
        (project / "data/08_reporting/cwe/probe/db_loss/metrics.json").glob("*/metrics.json")
    )


def results_at_once(project, before):
    """The means of db by run, of the files that are new in ``project``."""
    means = {}
    for file in result_files(project) - before:
        metrics = json.loads(file.read_text())
        name = "one" if metrics["options"]["gamma"] == 5.0 else "two"
        assert (metrics["conditions"]["recipe"]["training"]["epochs"] == 2) == (name == "two")
        means[name] = metrics["mean"]
    return means


def tracked_at_once(project):
    """The test metrics of the losses by run and loss, as MLflow has them."""
    client = MlflowClient(f"sqlite:///{project}/mlflow.db")
    experiment = client.get_experiment_by_name("losslab").experiment_id
    runs = client.search_runs([experiment], "tags.seed = '2'")
    assert {run.info.status for run in runs} == {"FINISHED"}
    tracked = {}
    for run in runs:
        name = "two" if run.data.params["recipe.training.epochs"] == "2" else "one"
        metrics = {key: value for key, value in run.data.metrics.items() if key.startswith("test/")}
        tracked[name, run.data.tags["loss"]] = metrics
    assert len(tracked) == len(runs)
    return tracked


@pytest.fixture(scope="module")
def one_by_one(finished, tmp_path_factory):
    """Both runs, each in a project of its own: the results of db, and what MLflow has."""
    results, tracked = {}, {}
    for name in AT_ONCE:
        folder = tmp_path_factory.mktemp(name) / "project"
        shutil.copytree(finished, folder, symlinks=True)
        before = result_files(folder)
        assert runner_in(folder)(*words_at_once(name)).returncode == 0
        results |= results_at_once(folder, before)
        tracked |= tracked_at_once(folder)
    assert results["one"] != results["two"]
    assert len(tracked) == 4
    return results, tracked


@pytest.mark.parametrize(
    ("seed", "workers"),
    [
        *(pytest.param(*case, marks=pytest.mark.long) for case in ((7, 1), (8, 1))),
        (9, 2),
    ],
)
def test_two_runs_at_once_keep_their_own_numbers(finished, one_by_one, tmp_path, seed, workers):
    """In random offsets, with different parameters, in one checkout."""
    folder = shutil.copytree(finished, tmp_path / "both", symlinks=True)
    before, offsets, processes = result_files(folder), np.random.default_rng(seed), {}
    for name in AT_ONCE:
        words = command(*words_at_once(name, workers))
        processes[name] = subprocess.Popen(words, cwd=folder, env=environment())
        time.sleep(2 * offsets.random())
    for name, process in processes.items():
        assert process.wait(timeout=300) == 0, name
    assert (results_at_once(folder, before), tracked_at_once(folder)) == one_by_one


def test_same_run_twice_at_once_computes_once(finished, tmp_path):
    """The first one is held in its training until the second one waits for it."""
    folder = shutil.copytree(finished, tmp_path / "project", symlinks=True)
    words = command(
        "run", "--verbose", "--env=test", "--pipelines=db_loss", "--params=db_loss.gamma=3"
    )
    options = {"cwd": folder, "env": environment(), "text": True, "stderr": subprocess.PIPE}
    first = subprocess.Popen(words, **options)
    second = None
    try:
        assert any("training starts" in line for line in first.stderr)
        first.send_signal(signal.SIGSTOP)
        second = subprocess.Popen(words, **options)
        told = []
        for line in second.stderr:
            told.append(line)
            if f"waiting for process {first.pid} (" in line:
                first.send_signal(signal.SIGCONT)
        first.send_signal(signal.SIGCONT)  # in any case
        first.communicate(timeout=300)
        assert (first.returncode, second.wait(timeout=300)) == (0, 0), "".join(told)
    finally:
        for process in filter(None, (first, second)):
            process.kill()
            process.wait()
    assert f"db_loss.train: waiting for process {first.pid} (" in "".join(told)
    assert "training starts" not in "".join(told)
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


def test_prune_keeps_what_a_current_run_in_mlflow_refers_to(project, invoke):
    """Its results were made by a session whose own run was deleted."""
    words = ("run", "--env=test", "--pipelines=db_loss")
    first = set(project.glob("data/**/*.json"))
    for gamma in (1, 1, 3):
        assert invoke(*words, f"--params=db_loss.gamma={gamma}").exit_code == 0
    client = MlflowClient(f"sqlite:///{project}/mlflow.db")
    experiment = client.get_experiment_by_name("losslab").experiment_id
    (run,) = client.search_runs([experiment], "tags.current = 'true'")
    assert run.data.params["loss_options.gamma"] == "1.0"
    session = run.data.tags["made_by"]
    assert session != run.data.tags["session"]
    assert set(project.glob(f"data/**/{session}/metrics.json")) - first
    for original in client.search_runs([experiment], f"tags.session = '{session}'"):
        client.delete_run(original.info.run_id)
    assert invoke("prune", "--keep=1").exit_code == 0
    kept = {path.name for path in project.glob(f"data/**/{session}/*")} - {"manifest.json"}
    assert kept == {"model.safetensors", "metrics.json", "decision_rules.json"}
    client.delete_run(run.info.run_id)
    assert invoke("prune", "--keep=1").exit_code == 0
    assert not list(project.glob(f"data/**/{session}/*"))


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
