"""Locks between runs: two that would compute the same thing take turns."""

import json
import logging
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from losslab.errors import LosslabError

logger = logging.getLogger(__name__)


@contextmanager
def locked(folder: Path, key: str, work: str) -> Iterator[bool]:
    """Hold the lock ``key`` of ``folder``; tells whether another run held it before.

    The system frees the lock of a process that dies.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LosslabError(f"{folder} cannot be written: {error.strerror}") from error
    file = folder / f".{key}.lock"
    owner = file.with_suffix(".owner")
    lock = FileLock(file)
    waited = False
    try:
        lock.acquire(blocking=False)
    except Timeout:
        waited = True
        logger.info("%s: waiting for %s, which computes the same", work, _describe(owner))
        lock.acquire()
    try:
        command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
        owner.write_text(json.dumps({"process": os.getpid(), "command": command}))
        yield waited
    finally:
        owner.unlink(missing_ok=True)
        with suppress(OSError):
            file.unlink()
        lock.release()


def find_holders(folder: Path) -> list[str]:
    """Who holds a lock below ``folder``; locks that dead processes left are removed."""
    holders = []
    for file in folder.rglob(".*.lock"):
        owner, lock = file.with_suffix(".owner"), FileLock(file)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            holders.append(_describe(owner))
            continue
        owner.unlink(missing_ok=True)
        file.unlink(missing_ok=True)
        lock.release()
    return holders


def _describe(owner: Path) -> str:
    try:
        facts = json.loads(owner.read_text())
        return f"process {facts['process']} ({facts['command']})"
    except (OSError, ValueError, KeyError):
        return "another run"
