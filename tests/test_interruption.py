"""A run that is stopped or fails says so in MLflow and leaves nothing half-written."""

import signal
import subprocess
from pathlib import Path

import pytest
from conftest import command, environment
from mlflow.tracking import MlflowClient

ENDLESS = "--params=recipes.probe.training.epochs=100000,recipes.probe.training.patience=100000"


@pytest.fixture
def training(project: Path):
    """A run that never ends by itself, once it trains; it does not outlive the test."""
    process = subprocess.Popen(
        command("run", "--verbose", "--env=test", "--pipelines=db_loss", ENDLESS),
        cwd=project,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert any("training starts" in line for line in process.stderr)
        yield process
    finally:
        process.kill()
        process.wait()


def statuses(project: Path) -> dict[str, str]:
    client = MlflowClient(f"sqlite:///{project}/mlflow.db")
    experiment = client.get_experiment_by_name("losslab")
    return {
        run.info.run_name: run.info.status for run in client.search_runs([experiment.experiment_id])
    }


@pytest.mark.parametrize(
    "stop", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.long)]
)
def test_stopped_run_is_killed_in_mlflow(project, training, stop):
    training.send_signal(stop)
    training.communicate(timeout=60)
    assert training.returncode != 0
    assert set(statuses(project).values()) == {"KILLED"}


def test_run_killed_without_a_word_is_marked_by_the_next_one(project, training, invoke):
    training.kill()
    training.communicate(timeout=60)
    assert "RUNNING" in statuses(project).values()
    done = invoke("run", "--verbose", "--env=test", "--pipelines=data")
    assert done.exit_code == 0, done.output
    assert statuses(project) == {
        "db_loss (cwe, probe)": "KILLED",
        "db_loss seed 1 (cwe, probe)": "KILLED",
        "data (cwe, probe)": "FINISHED",
    }


@pytest.mark.slow
def test_non_finite_loss_stops_with_loss_seed_and_place_and_a_failed_run(project, invoke):
    wild = "--params=recipes.probe.training.learning_rate=1e38"
    done = invoke("run", "--verbose", "--env=test", "--pipelines=focal_loss", wild)
    assert done.exit_code == 1
    assert isinstance(done.exception, SystemExit)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("Error: focal, seed 1, ")
    assert "NaN" in last or "inf" in last
    assert set(statuses(project).values()) == {"FAILED"}
