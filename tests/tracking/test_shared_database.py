"""Two runs at once on the default store, a SQLite file."""

import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from shutil import copy
from types import SimpleNamespace

import pytest
from mlflow.tracking import MlflowClient
from test_outbox import CHILD, Run, quick

from losslab.tracking.journal import Journal

__all__ = ["quick"]  # a fixture for every test
WRITER = """
from pathlib import Path
import sys
from types import SimpleNamespace
from test_outbox import Run
run = Run(Path(sys.argv[1]), SimpleNamespace(url=sys.argv[2]))
run.runs.open_parent(sys.argv[3], {})
for seed in range(10):
    run.runs.start("db", seed, {"gamma": seed})
    for epoch in range(1, 21):
        run.runs.log_metrics("db", seed, epoch, {"loss": 1 / epoch})
    run.runs.finish("db", seed, "FINISHED")
run.runs.end_parent("FINISHED")
sys.exit(run.outbox.close())
"""


@pytest.fixture
def database(tmp_path, mlflow_store) -> Path:
    file = Path(copy(mlflow_store, tmp_path))
    location = (tmp_path / "artifacts").as_uri()
    MlflowClient(f"sqlite:///{file}").create_experiment("losslab", artifact_location=location)
    return file


def runs_of(database: Path):
    client = MlflowClient(f"sqlite:///{database}")
    experiment = client.get_experiment_by_name("losslab").experiment_id
    return client, client.search_runs([experiment])


@pytest.mark.slow
def test_two_processes_lose_nothing(database, tmp_path):
    here = Path(__file__).parent
    path = os.pathsep.join([str(here), str(here.parent), *sys.path])
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, tmp_path / "outbox", f"sqlite:///{database}", name],
            env={**os.environ, "PYTHONPATH": path},
        )
        for name in ("one", "two")
    ]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0]
    client, runs = runs_of(database)
    assert len(runs) == 22
    assert {run.info.status for run in runs} == {"FINISHED"}
    for run in runs:
        points = client.get_metric_history(run.info.run_id, "loss")
        assert len(points) == (20 if "seed" in run.data.tags else 0)


def test_locked_database_gets_what_it_missed_from_the_next_run(database, tmp_path, monkeypatch):
    monkeypatch.setattr("losslab.tracking.outbox.SILENCE", 0.5)
    store = SimpleNamespace(url=f"sqlite:///{database}")
    lock = sqlite3.connect(database, isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    before = set(threading.enumerate())
    run = Run(tmp_path / "outbox", store)
    run.train("first")
    assert run.end() > 0
    assert list(run.journal.file.parent.glob("*.jsonl")) == [run.journal.file]
    assert Journal.take(run.journal.file) is None  # an attempt still waits for the database
    lock.close()
    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=60)
    monkeypatch.setattr("losslab.tracking.outbox.SILENCE", 30)
    run = Run(tmp_path / "outbox", store)
    run.train("second")
    assert run.end() == 0
    client, runs = runs_of(database)
    assert sorted(run.info.run_name for run in runs) == [CHILD, CHILD, "first", "second"]
    assert {run.info.status for run in runs} == {"FINISHED"}
    for run in runs:
        curve = client.get_metric_history(run.info.run_id, "train/loss")
        assert len(curve) == (3 if run.info.run_name == CHILD else 0)
