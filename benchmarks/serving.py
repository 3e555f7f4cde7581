"""A served model under load: 8 clients for 60 seconds, then requests that cannot be answered.

``python benchmarks/serving.py <model>`` serves a model of MLflow (a folder or an address such as
``models:/name/1``) on a free port, prints requests a second, errors and the server's memory, and what it
answers to each bad request.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import psutil
import requests

CLIENTS, SECONDS, PATIENCE = 8, 60, 300
TEXTS = ["profit of the bank rose", "the lock is open " * 20, "memory"]
BAD = {
    "empty body": b"",
    "not JSON": b"hello",
    "a number": {"inputs": {"text": [5]}},
    "null": {"inputs": {"text": [None]}},
    "no column": {"inputs": 5},
    "NUL byte": {"inputs": {"text": ["a\0b"]}},
    "a text of 1 MB": {"inputs": {"text": ["a" * 1_000_000]}},
    "unknown rule": {"inputs": {"text": ["a"]}, "params": {"rule": "none"}},
}


@contextmanager
def served(model: str) -> Iterator[tuple[str, psutil.Process]]:
    """The address of a server of its own, and its process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = ["models", "serve", "-m", model, "--env-manager=local", "--port", str(port)]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = subprocess.Popen(
        [sys.executable, "-m", "mlflow", *words],
        env={**os.environ, "PATH": path},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(f"http://127.0.0.1:{port}/ping")
        yield f"http://127.0.0.1:{port}/invocations", psutil.Process(process.pid)
    finally:
        for child in psutil.Process(process.pid).children(recursive=True):
            child.terminate()
        process.terminate()
        process.wait()


def wait_for(address: str) -> None:
    until = monotonic() + PATIENCE
    while monotonic() < until:
        try:
            requests.get(address, timeout=5).raise_for_status()
        except requests.RequestException:
            sleep(0.5)
        else:
            return
    raise SystemExit("the server does not start")


def ask(address: str, until: float) -> Counter[int]:
    """The statuses of one client's requests."""
    statuses: Counter[int] = Counter()
    with requests.Session() as session:
        while monotonic() < until:
            body = {"inputs": {"text": TEXTS[: 1 + sum(statuses.values()) % len(TEXTS)]}}
            statuses[session.post(address, json=body, timeout=60).status_code] += 1
    return statuses


def memory(server: psutil.Process) -> float:
    """Resident megabytes of the server and its workers."""
    family = [server, *server.children(recursive=True)]
    return sum(each.memory_info().rss for each in family) / 2**20


def load(address: str, server: psutil.Process, seconds: float) -> None:
    until = monotonic() + seconds
    samples = []
    with ThreadPoolExecutor(CLIENTS) as clients:
        answers = [clients.submit(ask, address, until) for _ in range(CLIENTS)]
        while monotonic() < until:
            sleep(min(seconds / 6, max(until - monotonic(), 0.01)))
            samples.append(round(memory(server)))
    statuses = sum((answer.result() for answer in answers), Counter())
    print(f"{sum(statuses.values()) / seconds:.0f} requests a second, by status {dict(statuses)}")
    print(f"memory over time, MB: {samples}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    given = parser.parse_args()
    with served(given.model) as (address, server):
        load(address, server, given.seconds)
        for name, body in BAD.items():
            data = body if isinstance(body, bytes) else json.dumps(body)
            headers = {"Content-Type": "application/json"}
            answer = requests.post(address, data=data, headers=headers, timeout=60)
            print(f"{name}: {answer.status_code} {answer.json()['message'][-90:]!r}")


if __name__ == "__main__":
    main()
