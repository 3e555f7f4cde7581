"""``kedro mlflow ui``: MLflow's pages, opened on the runs."""

import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from conftest import command, environment
from mlflow.tracking import MlflowClient

from losslab.cli import cli
from losslab.tracking import view_address


def free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def processes(group: int) -> int:
    """How many processes a group has."""
    stats = [file.read_text() for file in Path("/proc").glob("[0-9]*/stat")]
    return sum(int(stat.rpartition(")")[2].split()[2]) == group for stat in stats)


def test_commands_of_the_plugin_are_there_beside_ours(invoke):
    told = invoke("mlflow", "--help").output
    assert {"ui", "init", "modelify"} <= set(told.split())
    assert "--browser / --no-browser" in invoke("mlflow", "ui", "--help").output


def test_a_server_that_runs_elsewhere_is_opened_and_none_is_started(project, monkeypatch):
    opened = []
    monkeypatch.chdir(project)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:1")
    monkeypatch.setattr("losslab.cli._view_on", lambda uri, name: f"/view-of-{name}")
    monkeypatch.setattr("webbrowser.open", opened.append)
    told = CliRunner().invoke(cli, ["mlflow", "ui"])
    assert told.exit_code == 0
    assert opened == ["http://127.0.0.1:1/view-of-losslab"]
    assert opened[0] in told.output


@pytest.mark.long
@pytest.mark.slow
def test_pages_open_on_the_runs_with_few_processes(project, mlflow_store):
    experiment = MlflowClient(f"sqlite:///{project}/mlflow.db").create_experiment("losslab")
    port = free_port()
    words = command("mlflow", "ui", "--no-browser", f"--port={port}")
    server = subprocess.Popen(
        words,
        cwd=project,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        address = next(line.strip() for line in server.stdout if f":{port}/#" in line)
        assert address == f"http://127.0.0.1:{port}{view_address(experiment)}"
        assert processes(server.pid) <= 3
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait(60)
