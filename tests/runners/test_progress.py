"""What a run shows of its progress, in a terminal and in a pipe."""

import os
import pty
import re
import subprocess
import termios

import pytest
from conftest import command, environment

from losslab.runners.progress import Progress

WORDS = ("run", "--env=test", "--losses=bce,db,zlpr", "--workers=2")


def read_terminal(words: tuple[str, ...], project) -> str:
    """What a command writes to a terminal of 120 columns."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (40, 120))
    process = subprocess.Popen(
        command(*words),
        cwd=project,
        env=environment(TERM="xterm"),
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    try:
        while block := os.read(ours, 4096):
            shown += block
    except OSError:  # the other end is closed
        pass
    os.close(ours)
    assert process.wait() == 0, shown
    return shown.decode()


@pytest.mark.slow
def test_terminal_shows_one_line_that_changes(project):
    shown = read_terminal(WORDS, project)
    assert re.search(r"\r[^\n]*[012]/3 \[[^\n]*loss[^\n]*_loss", shown)  # done, time, running
    assert "Completed node" not in shown
    assert "done (1 of 3" not in shown
    assert "| zlpr" in shown


@pytest.mark.long
def test_pipe_gets_a_line_per_loss(kedro):
    done = kedro(*WORDS)
    assert done.returncode == 0, done.stderr
    lines = re.findall(r"(\w+)_loss: done \((\d) of 3, about (\d+:\d+) left\)", done.stderr)
    assert {loss for loss, _, _ in lines} == {"bce", "db", "zlpr"}
    assert [number for _, number, _ in lines] == ["1", "2", "3"]
    assert lines[-1][2] == "00:00"
    assert "\r" not in done.stderr


def test_remaining_time_follows_the_losses_that_are_done(monkeypatch, caplog):
    now = iter([100.0, 110.0, 120.0])
    monkeypatch.setattr("losslab.runners.progress.monotonic", lambda: next(now))
    caplog.set_level("INFO", "losslab")
    with Progress({"bce_loss": 2, "db_loss": 1, "zlpr_loss": 1}) as progress:
        progress.begin("bce_loss")
        progress.complete("bce_loss")
        progress.complete("bce_loss")
        progress.complete("data")  # no loss
        progress.complete("db_loss")
    told = [record.getMessage() for record in caplog.records]
    assert told == [
        "bce_loss: done (1 of 3, about 00:20 left)",
        "db_loss: done (2 of 3, about 00:10 left)",
    ]
