"""MLflow's pages on the runs of this project, started in seconds."""

import os
import subprocess
import sys
import threading
import time
import webbrowser
from urllib.error import URLError
from urllib.request import urlopen

QUICK = {
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # consumers of jobs that nobody here submits
    "MLFLOW_DISABLE_TELEMETRY": "true",
}
SECONDS_TO_START = 120.0


def serve(uri: str, host: str, port: str, view: str, *, open_browser: bool = True) -> int:
    """Run MLflow's server until it is stopped, and open ``view`` of it once it answers.

    One worker serves one person; MLflow's own default is four, and as many processes for jobs.
    """
    words = ["--backend-store-uri", uri, "--host", host, "--port", port, "--workers", "1"]
    address = f"http://{host}:{port}"
    command = [sys.executable, "-m", "mlflow", "server", *words]
    server = subprocess.Popen(command, env={**QUICK, **os.environ})  # noqa: S603
    if open_browser:
        threading.Thread(target=_open_when_ready, args=(server, address, view), daemon=True).start()
    try:
        return server.wait()
    except KeyboardInterrupt:
        server.terminate()
        return server.wait()


def _open_when_ready(server: "subprocess.Popen[bytes]", address: str, view: str) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while server.poll() is None and time.monotonic() < deadline:
        if answers(address):
            webbrowser.open(address + view)
            return
        time.sleep(0.2)


def answers(address: str) -> bool:
    """Whether MLflow's server answers there."""
    try:
        with urlopen(f"{address}/health", timeout=2) as answer:  # noqa: S310 - an address of ours
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False
