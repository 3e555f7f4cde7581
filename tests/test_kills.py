"""Kills at random moments of every stage: repeated, the command ends as an undisturbed one.

CI makes a few; ``pytest --long tests/test_kills.py`` makes a hundred in a row, twice.
"""

import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from conftest import command, environment, make_small_project, newest, read_json, runner_in
from mlflow.tracking import MlflowClient

pytestmark = pytest.mark.slow
FAMILIES = "bce,db,asl,dice2,bpmll,zlpr_rdrop,sbayes_f1,ce_count,mask_label,kwls"
"""A loss of each family; ``mask_label`` and ``sbayes_f1`` draw random numbers of their own."""
LONGER = ",".join(f"recipes.probe.training.{name}=40" for name in ("epochs", "patience"))
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
MAX_LINES = 30
"""Lines of the log before a kill; a whole run has about four times as many."""
FILES = {
    "model.safetensors": "06_models",
    "scores.safetensors": "07_model_output",
    "predictions.safetensors": "07_model_output",
    "decision_rules.json": "07_model_output",
}


def words(losses: str) -> tuple[str, ...]:
    return ("run", "--verbose", "--env=test", f"--losses={losses}", f"--params={LONGER}")


class Undisturbed:
    """A project that was run without disturbance, and an empty one to copy."""

    def __init__(self, folder: Path, store: Path, losses: str) -> None:
        self.losses = losses
        self.empty = make_small_project(folder / "empty", store)
        self.project = shutil.copytree(self.empty, folder / "project")
        done = runner_in(self.project)(*words(losses))
        assert done.returncode == 0, done.stderr


def run_until_killed(project: Path, losses: str, lines: int, delay: float, stop: int) -> bool:
    """Run, and send a signal after so many lines of the log; whether the run ended before."""
    process = subprocess.Popen(
        command(*words(losses)),
        cwd=project,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        for _ in range(lines):
            process.stderr.readline()
        time.sleep(delay)  # the moment of the kill, not a condition
        process.send_signal(stop)
        reader = threading.Thread(target=process.stderr.read)
        reader.start()
        process.wait(timeout=120)
        reader.join()
    finally:
        process.kill()
        process.wait()
    return process.returncode == 0


def kill_and_repeat(undisturbed: Undisturbed, folder: Path, kills: int, seed: int) -> Iterator[int]:
    """Kill runs of one project after the other until each is finished; yields kills so far."""
    random, done, rounds = np.random.default_rng(seed), 0, 0
    while done < kills:
        rounds += 1
        project = shutil.copytree(undisturbed.empty, folder / f"round_{rounds}")
        finished = False
        while not finished and done < kills:
            lines, stop = int(random.integers(1, MAX_LINES)), int(random.choice(SIGNALS))
            finished = run_until_killed(
                project, undisturbed.losses, lines, 0.4 * random.random(), stop
            )
            done += not finished
        last = runner_in(project)(*words(undisturbed.losses))
        assert last.returncode == 0, last.stderr
        assert_same_results(project, undisturbed)
        assert_nothing_left(project)
        assert_true_statuses(project)
        shutil.rmtree(project)
        yield done


def assert_same_results(project: Path, undisturbed: Undisturbed) -> None:
    for loss in undisturbed.losses.split(","):
        metrics = f"data/08_reporting/cwe/probe/{loss}_loss/metrics.json"
        assert read_json(project / metrics) == read_json(undisturbed.project / metrics), loss
        for name, layer in FILES.items():
            file = f"data/{layer}/cwe/probe/{loss}_loss/{name}"
            expected = newest(undisturbed.project / file).read_bytes()
            assert newest(project / file).read_bytes() == expected, file


def assert_nothing_left(project: Path) -> None:
    """No temporary file, lock or checkpoint, and nothing waits for MLflow."""
    left = [
        path
        for path in (project / "data").rglob("*")
        if path.suffix in (".part", ".lock", ".owner") or path.parent.name == "checkpoints"
    ]
    assert left == []
    assert list((project / "data/.mlflow_outbox").glob("*.jsonl")) == []


def assert_true_statuses(project: Path) -> None:
    client = MlflowClient(f"sqlite:///{project}/mlflow.db")
    experiment = client.get_experiment_by_name("losslab").experiment_id
    runs = client.search_runs([experiment], order_by=["attributes.start_time DESC"])
    assert {run.info.status for run in runs} <= {"FINISHED", "KILLED"}
    parent = next(run for run in runs if "mlflow.parentRunId" not in run.data.tags)
    children = [r for r in runs if r.data.tags.get("mlflow.parentRunId") == parent.info.run_id]
    assert {run.info.status for run in (parent, *children)} == {"FINISHED"}
    evaluated = [run for run in runs if "test/macro_f1" in run.data.metrics]
    assert {run.info.status for run in evaluated} == {"FINISHED"}


def test_killed_runs_repeated_end_as_an_undisturbed_one(tmp_path, mlflow_store):
    undisturbed = Undisturbed(tmp_path, mlflow_store, "bce,mask_label,sbayes_f1")
    *_, done = kill_and_repeat(undisturbed, tmp_path, kills=4, seed=11)
    assert done == 4


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2])
def test_a_hundred_kills_in_a_row(tmp_path, mlflow_store, seed):
    undisturbed = Undisturbed(tmp_path, mlflow_store, FAMILIES)
    for done in kill_and_repeat(undisturbed, tmp_path, kills=100, seed=seed):
        sys.stderr.write(f"seed {seed}: {done} kills\n")
