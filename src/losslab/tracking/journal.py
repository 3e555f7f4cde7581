"""The file that keeps a run's operations for MLflow until they are sent."""

import json
import logging
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from filelock import FileLock, Timeout

logger = logging.getLogger(__name__)
Operation = dict[str, Any]


class Journal:
    """An append-only file of operations and of how many were sent, locked by the one who sends.

    An operation is written when it is put, not when the process ends: a killed process loses none.
    A line that a kill cut off is skipped. A full disk costs the file, not the run.

    Attributes:
        header: whose operations these are: process, tracking server, experiment.
        operations: of an earlier run, what was not sent.
        ids: MLflow's ids of the runs that it created.
        tries: how many runs failed to send the rest.
    """

    def __init__(self, file: Path, lock: FileLock) -> None:
        self.file, self._lock = file, lock
        self._stream: IO[str] | None = None
        self.header: dict[str, Any] = {}
        self.operations: list[Operation] = []
        self.ids: dict[str, str] = {}
        self._open_runs: list[str] = []
        self.tries = 0
        self._count, self._sent = 0, 0

    @classmethod
    def create(cls, folder: Path, header: Mapping[str, Any]) -> "Journal":
        """A new file, with a unique name that sorts by time."""
        name = f"{datetime.now(UTC):%Y%m%dT%H%M%S.%f}-{uuid4().hex[:8]}.jsonl"
        journal = cls(folder / name, _lock_of(folder / name))
        journal.header = {**header, "id": uuid4().hex}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            journal._lock.acquire(timeout=0)
            journal._open()
        except OSError as error:
            journal._give_up(error)
        journal._write({"header": journal.header})
        return journal

    @classmethod
    def take(cls, file: Path) -> "Journal | None":
        """The file of an earlier run; None while another process holds it, or if it is gone."""
        journal = cls(file, _lock_of(file))
        try:
            journal._lock.acquire(timeout=0)
        except Timeout:
            return None
        if not file.exists():
            journal.delete()
            return None
        journal._read()
        journal._open()
        journal._end_killed_runs()
        return journal

    def append(self, operation: Operation) -> None:
        """Keep an operation."""
        self._count += 1
        self._write({"number": self._count, "put": operation})

    def mark_sent(self, count: int, ids: Mapping[str, str]) -> None:
        """Note that MLflow has ``count`` more operations, and the ids of runs they created."""
        self._sent += count
        self._write({"sent": self._sent, "ids": dict(ids)})

    def count_try(self) -> None:
        """Note that the rest could not be sent by this run."""
        self.tries += 1
        self._write({"tries": self.tries})

    def close(self) -> None:
        """Leave the file to the next run."""
        self._stop_writing()
        self._lock.release()

    def delete(self) -> None:
        """Remove the file: nothing is left to send."""
        self._stop_writing()
        with suppress(OSError):
            self.file.unlink(missing_ok=True)
            self._lock.release()
            Path(self._lock.lock_file).unlink(missing_ok=True)

    def set_aside(self) -> Path:
        """Rename the file, so that no run tries to send it again."""
        self._stop_writing()
        aside = self.file.rename(self.file.with_suffix(".unsent"))
        self.delete()
        return aside

    def _stop_writing(self) -> None:
        if self._stream is not None:
            self._stream.close()
        self._stream = None

    def _open(self) -> None:
        self._stream = self.file.open("a", encoding="utf-8")

    def _read(self) -> None:
        text = self.file.read_text(encoding="utf-8", errors="replace")
        lines = [line for line in map(_parse, text.splitlines()) if line]
        puts = {line["number"]: line["put"] for line in lines if "put" in line}
        self.header = read_header(self.file)
        self.tries = max((line["tries"] for line in lines if "tries" in line), default=0)
        self._sent = max((line["sent"] for line in lines if "sent" in line), default=0)
        self.ids = {run: run_id for line in lines for run, run_id in line.get("ids", {}).items()}
        self._count = max(puts, default=0)
        self.operations = [one for number, one in puts.items() if number > self._sent]
        self._open_runs = _not_ended(puts.values())

    def _end_killed_runs(self) -> None:
        """Add the end of each run that its process did not live to end: its last sign of life."""
        end_time = int(self.file.stat().st_mtime * 1000)
        for run in self._open_runs:
            end = {"do": "end", "run": run, "status": "KILLED", "end_time": end_time}
            self.operations.append(end)
            self.append(end)

    def _write(self, line: Mapping[str, Any]) -> None:
        if self._stream is None:
            return
        try:
            if self._stream.tell() > 0:
                self._stream.write("\n")  # before, not after: whatever was cut off ends here
            self._stream.write(json.dumps(line))
            self._stream.flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        self._stream = None
        logger.warning("%s; what MLflow misses of this run is not kept for the next", error)


def read_header(file: Path) -> dict[str, Any]:
    """Whose operations a file holds; empty where it was cut off."""
    try:
        with file.open(encoding="utf-8", errors="replace") as stream:
            return dict(_parse(stream.readline()).get("header", {}))
    except OSError:
        return {}


def _parse(line: str) -> dict[str, Any]:
    """A line as a dictionary; empty where a kill cut it off."""
    try:
        content = json.loads(line)
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}


def _not_ended(operations: Iterable[Operation]) -> list[str]:
    """Runs that were created and not ended; the parent, which was the first, comes last."""
    operations = list(operations)
    ended = {one["run"] for one in operations if one["do"] == "end"}
    created = [one["run"] for one in operations if one["do"] == "create"]
    return [run for run in reversed(created) if run not in ended]


def _lock_of(file: Path) -> FileLock:
    return FileLock(file.with_suffix(".lock"), thread_local=False)
