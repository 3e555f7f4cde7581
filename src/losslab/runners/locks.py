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


class RunLock:
    """The lock ``key`` of ``folder``, held while ``work`` is done.

    The system frees the lock of a process that dies.

    Attributes:
        waited: another run held it when it was first asked for.
    """

    def __init__(self, folder: Path, key: str, work: str) -> None:
        self._file = folder / f".{key}.lock"
        self._owner = self._file.with_suffix(".owner")
        self._lock, self._work = FileLock(self._file), work
        self.waited = False

    def acquire(self) -> bool:
        """Take the lock; False, and once a line that says who has it, if another run does."""
        folder = self._file.parent
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(blocking=False)
        except Timeout:
            if not self.waited:
                holder = _describe(self._owner)
                logger.info("%s: waiting for %s, which computes the same", self._work, holder)
            self.waited = True
            return False
        except OSError as error:
            raise LosslabError(f"{folder} cannot be written: {error.strerror}") from error
        command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
        with suppress(OSError):  # a full disk: others wait for "another run"
            self._owner.write_text(json.dumps({"process": os.getpid(), "command": command}))
        return True

    def release(self) -> None:
        """Give the lock back, and leave no file."""
        self._owner.unlink(missing_ok=True)
        with suppress(OSError):
            self._file.unlink()
        self._lock.release()


@contextmanager
def locked(folder: Path, key: str, work: str) -> Iterator[None]:
    """Hold a lock that no other run asks for: it shows that ``work`` is under way."""
    lock = RunLock(folder, key, work)
    lock.acquire()
    try:
        yield
    finally:
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
