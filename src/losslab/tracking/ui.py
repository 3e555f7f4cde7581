"""MLflow's pages on the runs of this project, started in seconds."""

import json
import os
import subprocess
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from urllib.parse import urlencode
from urllib.request import urlopen

from losslab.tracking.view import view_address

QUICK = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"}  # of jobs that nobody here submits
SECONDS_TO_START = 300.0


def serve(uri: str, host: str, port: str, experiment: str, *, show: Callable[[str], object]) -> int:
    """Run MLflow's server until it is stopped; ``show`` takes the address of the runs once it answers.

    One worker serves one person; MLflow's own default is four, and as many processes for jobs.
    """
    words = ["--backend-store-uri", uri, "--host", host, "--port", port, "--workers", "1"]
    command = [sys.executable, "-m", "mlflow", "server", *words]
    server = subprocess.Popen(command, env={**QUICK, **os.environ})  # noqa: S603
    wait = (server, f"http://{host}:{port}", experiment, show)
    threading.Thread(target=_show_when_ready, args=wait, daemon=True).start()
    try:
        return server.wait()
    except KeyboardInterrupt:
        server.terminate()
        return server.wait()


def open_runs(address: str) -> None:
    """Print an address and open it in a browser."""
    print(f"\nruns     {address}\n", flush=True)  # noqa: T201 - the command's answer
    webbrowser.open(address)


def _show_when_ready(
    server: "subprocess.Popen[bytes]",
    address: str,
    experiment: str,
    show: Callable[[str], object],
) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while server.poll() is None and time.monotonic() < deadline:
        try:
            show(address + _view_of(address, experiment))
        except OSError:  # it does not answer yet
            time.sleep(0.2)
        else:
            return


def _view_of(address: str, experiment: str) -> str:
    """The view of an experiment, behind a server's address; its first page, where there is none."""
    with urlopen(f"{address}/health", timeout=5):  # noqa: S310 - an address of ours
        pass
    words = urlencode({"experiment_name": experiment})
    path = "api/2.0/mlflow/experiments/get-by-name"
    try:
        with urlopen(f"{address}/{path}?{words}", timeout=60) as answer:  # noqa: S310
            return view_address(json.load(answer)["experiment"]["experiment_id"])
    except OSError:  # no run was made yet
        return "/"
