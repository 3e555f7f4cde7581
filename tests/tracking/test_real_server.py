"""A real ``mlflow server`` that is killed or stopped in mid-run, and comes back."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from shutil import copy
from time import monotonic, sleep

import pytest
import requests
from conftest import command, environment
from kedro.pipeline import Node
from mlflow.tracking import MlflowClient
from test_hooks import EVALUATE, METRICS, TRAIN, Project, clean_mlflow, runs_of, statuses

from losslab.hooks import MLFLOW_DEFAULTS, OUTBOX
from losslab.tracking.outbox import SILENCE

pytestmark = pytest.mark.slow
__all__ = ["clean_mlflow"]  # a fixture for every test


class Server:
    """A server on a free port of 127.0.0.1; its database outlives its processes."""

    def __init__(self, folder: Path, store: Path) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.folder, self.database = folder, copy(store, folder / "server.db")
        self.start()

    def start(self) -> None:
        words = ["mlflow", "server", "--host", "127.0.0.1", "--port", str(self.port)]
        stores = ["--backend-store-uri", f"sqlite:///{self.database}"]
        artifacts = ["--artifacts-destination", str(self.folder / "artifacts")]
        self.process = subprocess.Popen(
            [sys.executable, "-m", *words, *stores, *artifacts, "--workers", "1"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        until = monotonic() + 120
        while not self.answers():
            assert monotonic() < until, "no server"
            sleep(0.2)

    def answers(self) -> bool:
        with suppress(requests.RequestException):
            return requests.get(f"{self.url}/health", timeout=5).ok
        return False

    def send(self, number: signal.Signals) -> None:
        """Signal the server and its workers: a process group of their own."""
        os.killpg(self.process.pid, number)

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            self.send(signal.SIGKILL)
        self.process.wait()


@pytest.fixture
def server(tmp_path, mlflow_store, monkeypatch) -> Iterator[Server]:
    monkeypatch.setenv(
        "MLFLOW_HTTP_REQUEST_TIMEOUT", MLFLOW_DEFAULTS["MLFLOW_HTTP_REQUEST_TIMEOUT"]
    )
    monkeypatch.setattr("losslab.tracking.outbox.SILENCE", SILENCE)
    server = Server(tmp_path, mlflow_store)
    try:
        yield server
    finally:
        server.kill()


def assert_two_whole_runs(server: Server) -> None:
    client = MlflowClient(server.url)
    experiment = client.get_experiment_by_name("losslab").experiment_id
    runs = client.search_runs([experiment])
    parents = {run.info.run_id for run in runs if "mlflow.parentRunId" not in run.data.tags}
    children = [run for run in runs if run.info.run_id not in parents]
    assert {run.info.status for run in runs} == {"FINISHED"}
    assert {run.data.tags["mlflow.parentRunId"] for run in children} == parents
    assert len(parents) == len(children) == 2
    for run in children:
        curve = client.get_metric_history(run.info.run_id, "validation/macro_f1")
        assert [point.step for point in curve] == [1]
        assert run.data.metrics["test/macro_f1"] == METRICS["seeds"]["1"]["macro_f1"]
        assert [file.path for file in client.list_artifacts(run.info.run_id)] == [
            "decision_rules.json"
        ]


def run_through(project: Project, server: Server, event: Callable[[], None]) -> None:
    """Train, let something happen to the server, evaluate."""

    def happen(model: str) -> str:
        event()
        return model

    happens = Node(happen, "model", "same_model", name="happen")
    inputs = ["same_model", "params:recipe"]
    project.run(server.url, TRAIN, happens, Node(EVALUATE.func, inputs, "db_loss_metrics"))


def test_stopped_server_misses_nothing_once_it_goes_on(server, tmp_path):
    project = Project(tmp_path)
    started = monotonic()
    run_through(project, server, lambda: server.send(signal.SIGSTOP))
    assert monotonic() - started < 40  # a run waits 20 s for a server that hangs
    assert list((tmp_path / OUTBOX).glob("*.jsonl"))
    server.send(signal.SIGCONT)
    project.run(server.url, TRAIN, EVALUATE)
    assert_two_whole_runs(server)
    assert list((tmp_path / OUTBOX).iterdir()) == []


@pytest.mark.long
def test_killed_server_misses_nothing_once_it_is_back(server, tmp_path):
    project = Project(tmp_path)
    run_through(project, server, server.kill)
    assert list((tmp_path / OUTBOX).glob("*.jsonl"))
    server.start()
    project.run(server.url, TRAIN, EVALUATE)
    assert_two_whole_runs(server)
    assert list((tmp_path / OUTBOX).iterdir()) == []


@pytest.mark.long
@pytest.mark.parametrize("at_start", [True, False])
def test_stopped_server_costs_a_command_at_most_30_s(server, project, at_start):
    words = command("run", "--verbose", "--env=test", "--pipelines=bce_loss", "--params=seed=2")
    options = {"cwd": project, "env": environment(MLFLOW_TRACKING_URI=server.url), "text": True}
    started = monotonic()
    subprocess.run(words, **options, check=True, capture_output=True)
    undisturbed = monotonic() - started
    if at_start:
        server.send(signal.SIGSTOP)
    started = monotonic()
    with subprocess.Popen(words, **options, stderr=subprocess.PIPE) as process:
        for line in process.stderr:
            if "training starts" in line:
                server.send(signal.SIGSTOP)
    assert process.returncode == 0
    assert monotonic() - started - undisturbed < 30
    server.send(signal.SIGCONT)
    subprocess.run(words, **options, check=True, capture_output=True)
    assert set(statuses(server.url).values()) == {"FINISHED"}
    assert len(runs_of(server.url)) == 6
