"""A run that is stopped or fails says so in MLflow and leaves nothing half-written."""

import signal
import subprocess
from pathlib import Path

import pytest
from conftest import command, environment
from mlflow.tracking import MlflowClient

ENDLESS = "--params=recipes.probe.training.epochs=100000,recipes.probe.training.patience=100000"


def start_training(project: Path) -> subprocess.Popen:
    """Start a run that never ends by itself and return once it trains."""
    process = subprocess.Popen(
        command("run", "--env=test", "--pipelines=db_loss", ENDLESS),
        cwd=project,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in process.stderr:
        if "training starts" in line:
            return process
    raise AssertionError("the run ended before it trained")


def statuses(project: Path) -> dict[str, str]:
    client = MlflowClient(f"sqlite:///{project}/mlflow.db")
    experiment = client.get_experiment_by_name("losslab")
    return {
        run.info.run_name: run.info.status for run in client.search_runs([experiment.experiment_id])
    }


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_stopped_run_is_killed_in_mlflow(project, stop):
    process = start_training(project)
    process.send_signal(stop)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert set(statuses(project).values()) == {"KILLED"}


def test_run_killed_without_a_word_is_marked_by_the_next_one(project, kedro):
    process = start_training(project)
    process.kill()
    process.communicate(timeout=60)
    assert "RUNNING" in statuses(project).values()
    done = kedro("run", "--env=test", "--pipelines=prepare")
    assert done.returncode == 0, done.stderr
    assert statuses(project) == {
        "db_loss (cwe, probe)": "KILLED",
        "db_loss seed 1 (cwe, probe)": "KILLED",
        "prepare (cwe, probe)": "FINISHED",
    }


def test_non_finite_loss_stops_with_loss_seed_and_place_and_a_failed_run(project, kedro):
    wild = "--params=recipes.probe.training.learning_rate=1e38"
    done = kedro("run", "--env=test", "--pipelines=focal_loss", wild)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("Error: focal, seed 1, ")
    assert "NaN" in last or "inf" in last
    assert set(statuses(project).values()) == {"FAILED"}
