"""Where a run comes from: its source, its command, its process."""

import shlex
import socket
import subprocess
import sys
from pathlib import Path

import psutil

CLOCK_TOLERANCE = 60.0  # seconds: start times move when the system's clock is set


def describe_source(project: Path) -> dict[str, str]:
    """The command line and the state of the repository."""
    commit = _git(project, "rev-parse", "HEAD")
    return {
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "git_commit": commit or "unknown",
        "git_dirty": str(bool(_git(project, "status", "--porcelain"))) if commit else "unknown",
    }


def describe_process() -> str:
    """A name of this process that no other one has: host, id, time of start."""
    return f"{socket.gethostname()}:{psutil.Process().pid}:{psutil.Process().create_time():.0f}"


def still_runs(process: str) -> bool:
    """Whether the process of that name may still run; one of another host is believed to."""
    host, pid, started = process.rsplit(":", 2)
    if host != socket.gethostname():
        return True
    try:
        drift = abs(psutil.Process(int(pid)).create_time() - float(started))
        return drift < CLOCK_TOLERANCE
    except psutil.NoSuchProcess:
        return False


def _git(project: Path, *words: str) -> str:
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
