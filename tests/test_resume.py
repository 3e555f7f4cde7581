"""A run that was stopped or killed in a training: the same command ends as an undisturbed one."""

import signal
import subprocess
from pathlib import Path

import pandas as pd
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

from losslab.tracking.training_runs import is_charted

pytestmark = pytest.mark.slow

EPOCHS = 400
LONG = ",".join(f"recipes.probe.training.{name}={EPOCHS}" for name in ("epochs", "patience"))
WORDS = ("run", "--verbose", "--env=test", "--pipelines=db_loss", "--seeds=2", f"--params={LONG}")
MODELS = "data/06_models/cwe/probe"
METRICS = "data/08_reporting/cwe/probe/db_loss/metrics.json"
OUTPUTS = (
    f"{MODELS}/db_loss/model.safetensors",
    "data/07_model_output/cwe/probe/db_loss/scores.safetensors",
)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, mlflow_store) -> Path:
    project = make_small_project(tmp_path_factory.mktemp("undisturbed") / "project", mlflow_store)
    done = runner_in(project)(*WORDS)
    assert done.returncode == 0, done.stderr
    return project


def stop_in_second_training(project: Path, stop: signal.Signals) -> str:
    """Start the run and stop it once its second seed has a checkpoint; what it logged since."""
    process = subprocess.Popen(
        command(*WORDS), cwd=project, env=environment(), stderr=subprocess.PIPE, text=True
    )
    try:
        assert any("seed 2: training starts" in line for line in process.stderr)
        while not checkpoints(project, "seed_2/step_*"):
            assert process.poll() is None
        process.send_signal(stop)
        _, logged = process.communicate(timeout=60)
        assert process.returncode not in (0, None)
    finally:
        process.kill()
        process.wait()
    return logged


def checkpoints(project: Path, pattern: str) -> list[Path]:
    return list((project / MODELS / "checkpoints").glob(f"*/db/{pattern}"))


def read_history(project: Path) -> pd.DataFrame:
    history = pd.read_parquet(newest(project / MODELS / "db_loss/history.parquet"))
    return history.drop(columns=["train_seconds", "train_documents_per_second", "train_memory_gb"])


def read_curves(project: Path) -> dict[str, list[int]]:
    """The evaluations that MLflow has of each training that ended."""
    client = MlflowClient(f"sqlite:///{project}/mlflow.db")
    experiment = client.get_experiment_by_name("losslab").experiment_id
    runs = client.search_runs([experiment], "attributes.status = 'FINISHED' and tags.seed != ''")
    return {
        run.data.tags["seed"]: [
            metric.step
            for metric in client.get_metric_history(run.info.run_id, "validation/macro_f1")
        ]
        for run in runs
    }


@pytest.mark.parametrize(
    "stop",
    [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.long)],
    ids=lambda each: each.name,
)
def test_same_command_continues_and_ends_with_the_same_numbers(
    project, undisturbed, invoke, caplog, stop
):
    save_checkpoints(project, seconds=0.2)
    logged = stop_in_second_training(project, stop)
    assert ("SIGTERM: stops after step" in logged) == (stop == signal.SIGTERM)
    assert not list((project / MODELS / "db_loss").glob("model.safetensors/*/*"))
    assert [path.parent.name for path in checkpoints(project, "*/finished")] == ["seed_1"]
    resumed = invoke(*WORDS)
    assert resumed.exit_code == 0, resumed.output
    assert "db, seed 1: was finished, is not trained again" in caplog.text
    assert "db, seed 2: continues after step" in caplog.text
    assert read_json(project / METRICS) == read_json(undisturbed / METRICS)
    pd.testing.assert_frame_equal(read_history(project), read_history(undisturbed))
    for output in OUTPUTS:
        assert newest(project / output).read_bytes() == newest(undisturbed / output).read_bytes()
    charted = [step for step in range(1, EPOCHS + 1) if is_charted(step) or step == EPOCHS]
    assert read_curves(project) == {"1": charted, "2": charted}
    assert not list((project / MODELS / "checkpoints").glob("*"))
