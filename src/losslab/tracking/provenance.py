"""Provenance of a run: command, commit, process."""

import shlex
import socket
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version
from typing import Any

import psutil

CLOCK_TOLERANCE = 60.0  # seconds: start times move when the system's clock is set
PACKAGES = (
    "losslab",
    "kedro",
    "torch",
    "transformers",
    "tokenizers",
    "numpy",
    "scikit-learn",
    "pandas",
)
"""Packages whose versions a result's provenance names."""
REPORTED = ("losslab", "kedro", "torch")
"""Packages whose versions a report names."""


def describe_source(project: Path) -> dict[str, str]:
    """The command line, and the commit of the project's repository."""
    commit = _git(project, "rev-parse", "HEAD")
    return {
        "command": describe_command(),
        "git_commit": commit or "unknown",
        "git_dirty": str(bool(_git(project, "status", "--porcelain"))) if commit else "unknown",
    }


def describe_command() -> str:
    """The command line."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])


def describe_run(project: Path) -> dict[str, Any]:
    """Command, commit and the versions a report names."""
    source = describe_source(project)
    return {
        "command": source["command"],
        "commit": source["git_commit"],
        "dirty": {"True": True, "False": False}.get(source["git_dirty"]),
        "versions": {"python": python_version(), **{name: version(name) for name in REPORTED}},
    }


def describe_environment(project: Path) -> dict[str, Any]:
    """Command and commit, package versions, device: where a result was computed."""
    import torch

    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    versions = {"python": python_version(), **{name: _version(name) for name in PACKAGES}}
    return {**describe_source(project), "device": device, "versions": versions}


def describe_process() -> str:
    """A unique name of this process: host, id, start time."""
    process = psutil.Process()
    return f"{socket.gethostname()}:{process.pid}:{process.create_time():.0f}"


def process_is_alive(name: str) -> bool:
    """Whether the process of that name runs; one of another host counts as alive."""
    host, pid, started = name.rsplit(":", 2)
    if host != socket.gethostname():
        return True
    try:
        drift: float = abs(psutil.Process(int(pid)).create_time() - float(started))
    except psutil.NoSuchProcess:
        return False
    return drift < CLOCK_TOLERANCE


def _git(project: Path, *words: str) -> str:
    """The output of a git command; empty where it fails."""
    try:
        answer = subprocess.run(  # noqa: S603
            ["git", *words],  # noqa: S607
            cwd=project,
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip()


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
