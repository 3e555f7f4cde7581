"""Kills at random moments of every stage: repeated, the command ends as an undisturbed one.

CI makes a few; ``pytest --long tests/test_kills.py`` makes a hundred in a row, twice: in one process,
and with two workers.
"""

import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
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

pytestmark = pytest.mark.slow
FAMILIES = "bce,db,asl,dice2,bpmll,zlpr_rdrop,sbayes_f1,ce_count,mask_label,kwls"
"""A loss of each family; ``mask_label`` and ``sbayes_f1`` draw random numbers of their own."""
LONGER = ",".join(f"recipes.probe.training.{name}=40" for name in ("epochs", "patience"))
EXITS = {
    signal.SIGKILL: {-signal.SIGKILL},
    signal.SIGTERM: {-signal.SIGTERM, 128 + signal.SIGTERM},
    signal.SIGINT: {-signal.SIGINT, 128 + signal.SIGINT, 1},  # 1: Click says "Aborted!"
}
"""By signal, the exit statuses of what died of it."""
SIGNALS = tuple(EXITS)
EARLY = {
    "start": "stale: ",
    "data": "Completed node: data.",
    "features": "Completed node: features.",
    "supervision": "Completed node: supervision.",
}
"""By stage, the line of the log that a kill waits for; these stages are done once in a project."""
LATE = {
    "train": "training starts",
    "score": "_loss.score ",
    "evaluate": "_loss.evaluate ",
    "reporting": "Completed node: reporting.",
}
KILLS_IN_A_PROJECT = 9
FILES = {
    "model.safetensors": "06_models",
    "scores.safetensors": "07_model_output",
    "predictions.safetensors": "07_model_output",
    "decision_rules.json": "07_model_output",
}


def words(losses: str, workers: int) -> tuple[str, ...]:
    options = (f"--losses={losses}", f"--params={LONGER}", f"--workers={workers}")
    return ("run", "--verbose", "--env=test", "--seeds=2", *options)


class Undisturbed:
    """A project that was run without disturbance, and an empty one to copy."""

    def __init__(self, folder: Path, store: Path, losses: str) -> None:
        self.losses = losses
        self.empty = make_small_project(folder / "empty", store)
        save_checkpoints(self.empty)  # kills meet them at any moment of a training
        self.project = shutil.copytree(self.empty, folder / "project")
        done = runner_in(self.project)(*words(losses, workers=1))
        assert done.returncode == 0, done.stderr


@dataclass
class Kills:
    """Kills of runs in ``folder``; ``landed`` counts them by stage."""

    undisturbed: Undisturbed
    folder: Path
    workers: int
    seed: int
    landed: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)
        self.words = words(self.undisturbed.losses, self.workers)
        self.tmp = self.folder / "tmp"
        self.tmp.mkdir()

    def repeat(self, kills: int) -> Iterator[int]:
        """Kill runs of one project after the other until each is finished; yields kills so far."""
        while self.landed.total() < kills:
            name = f"after_{self.landed.total()}_kills"
            project = shutil.copytree(self.undisturbed.empty, self.folder / name)
            finished = self.run_until_killed(project, EARLY)
            until = min(kills, self.landed.total() + KILLS_IN_A_PROJECT)
            while not finished and self.landed.total() < until:
                finished = self.run_until_killed(project, LATE)
            last = runner_in(project)(*self.words, TMPDIR=str(self.tmp))
            assert last.returncode == 0, last.stderr
            assert_same_results(project, self.undisturbed)
            assert_nothing_left(project)
            assert list(self.tmp.glob("losslab-*")) == []
            assert_true_statuses(project)
            shutil.rmtree(project)
            yield self.landed.total()

    def run_until_killed(self, project: Path, stages: dict[str, str]) -> bool:
        """Run, and send a signal within a stage; whether the run ended before."""
        stop = SIGNALS[self.landed.total() % len(SIGNALS)]
        stage = str(self.random.choice(list(stages)))
        process = subprocess.Popen(
            command(*self.words),
            cwd=project,
            env=environment(TMPDIR=str(self.tmp)),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            seen = (line for line in process.stderr if stages[stage] in line)
            for _ in range(1 if stages is EARLY else self.random.integers(1, 4)):
                next(seen, None)
            time.sleep(0.4 * self.random.random())  # the moment of the kill, not a condition
            process.send_signal(stop)
            rest: list[str] = []
            reader = threading.Thread(target=lambda: rest.append(process.stderr.read()))
            reader.start()
            process.wait(timeout=120)
            reader.join()
        finally:
            process.kill()
            process.wait()
        if process.returncode == 0:
            return True
        assert process.returncode in EXITS[stop], rest  # or it failed by itself
        assert process.returncode != 1 or "Aborted!" in rest[0], rest
        self.landed[stage] += 1
        return False


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


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, mlflow_store) -> Undisturbed:
    return Undisturbed(tmp_path_factory.mktemp("short"), mlflow_store, "mask_label,sbayes_f1")


@pytest.mark.parametrize("workers", [pytest.param(1, marks=pytest.mark.long), 2])
def test_killed_runs_repeated_end_as_an_undisturbed_one(undisturbed, tmp_path, workers):
    kills = Kills(undisturbed, tmp_path, workers, seed=11)
    *_, done = kills.repeat(len(SIGNALS))
    assert done == len(SIGNALS)


@pytest.mark.long
@pytest.mark.parametrize(("seed", "workers"), [(1, 1), (2, 2)])
def test_a_hundred_kills_in_a_row(tmp_path, mlflow_store, seed, workers):
    undisturbed = Undisturbed(tmp_path, mlflow_store, FAMILIES)
    kills = Kills(undisturbed, tmp_path, workers, seed)
    for done in kills.repeat(100):
        sys.stderr.write(f"seed {seed}, {workers} workers: {done} kills, {dict(kills.landed)}\n")
    assert all(kills.landed[stage] for stage in (*EARLY, *LATE))
