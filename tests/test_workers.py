"""Losses side by side: the same numbers with any number of workers, whatever befalls one of them."""

import signal
import subprocess
from pathlib import Path

import psutil
import pytest
from conftest import (
    command,
    environment,
    make_small_project,
    newest,
    read_json,
    runner_in,
    save_checkpoints,
)
from mlflow.tracking import MlflowClient
from test_kills import assert_nothing_left, assert_true_statuses

pytestmark = pytest.mark.slow
LONGER = ",".join(f"recipes.probe.training.{name}=60" for name in ("epochs", "patience"))
WORDS = ("run", "--env=test", "--losses=bce,mask_element,sbayes_f1", "--seeds=2")
LOSSES = ("bce", "mask_element", "sbayes_f1")


@pytest.fixture(scope="module")
def alone(tmp_path_factory, mlflow_store) -> Path:
    """A project after a run in one process."""
    project = make_small_project(tmp_path_factory.mktemp("alone") / "project", mlflow_store)
    done = runner_in(project)(*WORDS, f"--params={LONGER}", "--workers=1")
    assert done.returncode == 0, done.stderr
    return project


def results(project: Path) -> dict[str, object]:
    """Weights, scores and metrics of every loss."""
    found: dict[str, object] = {}
    for loss in LOSSES:
        metrics = read_json(project / f"data/08_reporting/cwe/probe/{loss}_loss/metrics.json")
        found[loss] = {name: metrics[name] for name in ("seeds", "intervals", "made_of")}
        model = project / f"data/06_models/cwe/probe/{loss}_loss/model.safetensors"
        found[f"{loss} model"] = newest(model).read_bytes()
    return found


def statuses(project: Path) -> dict[str, str]:
    client = MlflowClient(f"sqlite:///{project}/mlflow.db")
    experiment = client.get_experiment_by_name("losslab")
    runs = client.search_runs([experiment.experiment_id])
    return {run.info.run_name: run.info.status for run in runs}


def curves(project: Path) -> dict[str, list[tuple[int, float]]]:
    """Points of a validation curve in MLflow, by run."""
    client = MlflowClient(f"sqlite:///{project}/mlflow.db")
    runs = client.search_runs([client.get_experiment_by_name("losslab").experiment_id])
    histories = {
        run.info.run_name: client.get_metric_history(run.info.run_id, "validation/macro_f1")
        for run in runs
    }
    return {
        name: sorted((point.step, point.value) for point in points)
        for name, points in histories.items()
        if points
    }


def workers_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """The worker processes of a run; not the tracker of their resources."""
    children = psutil.Process(process.pid).children(recursive=True)
    return [each for each in children if "spawn_main" in " ".join(each.cmdline())]


def start(project: Path, *more: str) -> subprocess.Popen[str]:
    """Start a run with two workers; returns when both train and there is a checkpoint."""
    save_checkpoints(project)
    process = subprocess.Popen(
        command(*WORDS, f"--params={LONGER}", "--workers=2", "--verbose", *more),
        cwd=project,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    seen = (line for line in process.stderr if "training starts" in line)
    for _ in range(2):
        assert next(seen, None) is not None
    while not list(project.glob("data/06_models/cwe/probe/checkpoints/*/*/seed_*/*/manifest.json")):
        assert process.poll() is None
    return process


def rerun(project: Path) -> str:
    """Repeat the run to its end; what it logged."""
    done = runner_in(project)(*WORDS, f"--params={LONGER}", "--workers=2", "--verbose")
    assert done.returncode == 0, done.stderr
    assert_nothing_left(project)
    return done.stderr


@pytest.mark.parametrize("workers", [pytest.param(2, marks=pytest.mark.long), 3])
def test_numbers_do_not_depend_on_the_number_of_workers(alone, project, kedro, workers):
    done = kedro(*WORDS, f"--params={LONGER}", f"--workers={workers}")
    assert done.returncode == 0, done.stderr
    assert results(project) == results(alone)
    assert set(statuses(project).values()) == {"FINISHED"}
    assert len(statuses(project)) == 1 + 2 * len(LOSSES)
    assert curves(project) == curves(alone)
    assert "3 of 3" in done.stderr
    assert "Completed node" not in done.stderr


def test_killed_worker_is_replaced_and_its_training_goes_on(alone, project):
    process = start(project)
    workers_of(process)[0].kill()
    told = process.communicate(timeout=300)[1]
    assert process.returncode == 0, told
    assert "its worker died (SIGKILL" in told
    assert results(project) == results(alone)


@pytest.mark.long
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_stopped_run_ends_its_workers_and_is_continued(alone, project, stop):
    process = start(project)
    workers = workers_of(process)
    assert len(workers) == 2
    process.send_signal(stop)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert not [each for each in workers if each.is_running()]
    assert set(statuses(project).values()) == {"KILLED"}
    told = rerun(project)
    assert "continues after step" in told or "was finished, is not trained again" in told
    assert results(project) == results(alone)


@pytest.mark.long
def test_workers_of_a_killed_run_end_by_themselves_and_it_is_continued(alone, project):
    process = start(project)
    workers = workers_of(process)
    process.kill()
    process.communicate(timeout=60)
    gone, alive = psutil.wait_procs(workers, timeout=60)
    assert (len(gone), alive) == (2, [])
    told = rerun(project)
    assert "continues after step" in told or "was finished, is not trained again" in told
    assert results(project) == results(alone)
    assert_true_statuses(project)


def test_loss_that_fails_in_a_worker_costs_the_others_nothing(alone, project, kedro):
    bad = f"{LONGER},sbayes_f1_loss.step_size=1e9"
    done = kedro(*WORDS, f"--params={bad}", "--workers=2")
    assert done.returncode != 0
    assert "Error: modelling.f1.sbayes_f1_loss.train: sbayes_f1, seed" in done.stderr
    assert "Traceback" not in done.stderr
    assert results_of(project, "bce") == results_of(alone, "bce")
    assert statuses(project)["sbayes_f1_loss seed 1 (cwe, probe)"] == "FAILED"


def results_of(project: Path, loss: str) -> object:
    metrics = read_json(project / f"data/08_reporting/cwe/probe/{loss}_loss/metrics.json")
    return metrics["seeds"], metrics["made_of"]
