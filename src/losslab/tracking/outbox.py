"""Operations for MLflow, sent in order by a thread of their own.

The training never waits for the server. What cannot be sent is tried again, kept in a file, and
sent by the next run.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice, takewhile
from pathlib import Path
from time import monotonic, sleep
from typing import Protocol

from losslab.tracking.journal import Journal, Operation

SECONDS_BETWEEN_WRITES = 2.0  # of metrics; a run's start and end are written at once
MAX_PAUSE = 30.0  # seconds between two attempts at a server that fails
MAX_BATCH = 200  # operations, a few metrics each
SILENCE = 10.0  # at the end: seconds to wait for the next answer
DRAIN = 60.0  # at the end: seconds in all, while the server answers
LAST_ATTEMPTS, LAST_PAUSE = 3, 0.5  # at the end: failures in a row, and seconds between them
MAX_TRIES = 5  # runs that try to send an earlier one's operations
logger = logging.getLogger(__name__)


class RefusedError(Exception):
    """MLflow will never take the operation, however often it is sent."""


class Sender(Protocol):
    """Sends operations to MLflow."""

    def send(self, batch: Sequence[Operation], *, again: bool) -> dict[str, str]:
        """Send operations that belong together; the ids of runs they created, by key.

        Args:
            again: an earlier attempt may have arrived.

        Raises:
            RefusedError: another attempt has no use.
        """


class Outbox:
    """A queue of operations and the thread that sends them.

    Args:
        sender: sends operations, in the thread.
        journal: keeps what is not sent.
        on_failure: told each failure, in the thread.
    """

    def __init__(
        self, sender: Sender, journal: Journal, on_failure: Callable[[Exception], None]
    ) -> None:
        self._sender, self._journal, self._on_failure = sender, journal, on_failure
        self._queue: deque[Operation] = deque()
        self._changed = threading.Condition()
        self._closing = self._closed = self._failing = False
        self._refused = 0
        self._answered_at = monotonic()
        self._thread = threading.Thread(target=self._work, name="mlflow-outbox", daemon=True)
        self._thread.start()

    def put(self, operation: Operation) -> None:
        """Send the operation after all others; returns at once."""
        with self._changed:
            self._queue.append(operation)
            self._journal.append(operation)
            if operation["do"] != "log":
                self._changed.notify_all()

    def flush(self, timeout: float) -> bool:
        """Wait until all is sent or an attempt fails; whether all was."""
        with self._changed:
            self._changed.wait_for(lambda: not self._queue or self._failing, timeout)
            return not self._queue

    def keep_alive(self) -> None:
        """Note that the server answers, within an operation of many requests."""
        self._answered_at = monotonic()

    def close(self) -> int:
        """Send what is left while the server answers; how many operations wait for the next run.

        An attempt that is not answered yet keeps the file locked until it ends, with the process at
        the latest: the next run does not send the same beside it.
        """
        with self._changed:
            self._closing, self._answered_at = True, monotonic()
            self._changed.notify_all()
        until = monotonic() + DRAIN
        while self._thread.is_alive() and monotonic() < min(until, self._answered_at + SILENCE):
            self._thread.join(0.05)
        if self._refused > 1:
            logger.info("MLflow refused %d operations of this run", self._refused)
        with self._changed:
            self._closed = True
            return len(self._queue)

    def _work(self) -> None:
        self._send_all()
        with self._changed:
            if self._queue:
                self._journal.close()
            else:
                self._journal.delete()

    def _send_all(self) -> None:
        failures = 0
        while not self._closed:
            batch = self._next_batch()
            if not batch and self._closing:
                return
            try:
                self._attempt(batch, again=failures > 0)
                failures = 0
            except Exception as error:  # noqa: BLE001
                failures += 1
                self._on_failure(error)
                if self._closing and failures >= LAST_ATTEMPTS:
                    return
                self._pause(min(2.0**failures, MAX_PAUSE))

    def _next_batch(self) -> list[Operation]:
        """The next operations that can be sent at once; none if there are none for a while."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._closing or any(one["do"] != "log" for one in self._queue),
                SECONDS_BETWEEN_WRITES,
            )
            return next_batch(self._queue)

    def _attempt(self, batch: list[Operation], *, again: bool) -> None:
        if not batch:
            return
        ids: dict[str, str] = {}
        try:
            ids = self._sender.send(batch, again=again)
        except RefusedError as error:
            if len(batch) > 1:  # which one?
                for operation in batch:
                    self._attempt([operation], again=True)
                return
            self._refused += 1
            if self._refused == 1:
                logger.warning("MLflow refused to %s: %s", batch[0]["do"], error)
        self._drop(len(batch), ids)

    def _drop(self, count: int, ids: dict[str, str]) -> None:
        """Forget what was sent."""
        with self._changed:
            for _ in range(count):
                self._queue.popleft()
            self._journal.mark_sent(count, ids)
            self._failing = False
            self._answered_at = monotonic()
            self._changed.notify_all()

    def _pause(self, seconds: float) -> None:
        """Wait before the next attempt; not long at the end of the run."""
        with self._changed:
            self._failing = True
            self._changed.notify_all()
            if not self._changed.wait_for(lambda: self._closing, seconds):
                return
        sleep(LAST_PAUSE)


def next_batch(queue: Sequence[Operation]) -> list[Operation]:
    """The first operation; if it is a ``log``, with those after it, of whatever run.

    With the ``end`` after them, too, if all are of the run that ends: one request has its metrics.
    """
    if not queue:
        return []
    first = queue[0]
    if first["do"] != "log":
        return [first]
    batch = list(islice(takewhile(lambda one: one["do"] == "log", queue), MAX_BATCH))
    after = queue[len(batch)] if len(queue) > len(batch) else {"do": "", "run": ""}
    if after["do"] == "end" and {one["run"] for one in batch} == {after["run"]}:
        batch.append(after)
    return batch


def send_journal(journal: Journal, sender: Sender, on_sent: Callable[[], None]) -> bool:
    """Send what an earlier run left in its file, then delete the file; whether that worked.

    A run that fails leaves the rest to the next; after ``MAX_TRIES`` of them the file is set aside.
    """
    queue, refused = deque(journal.operations), 0
    try:
        while batch := next_batch(queue):
            ids, faults = _deliver(sender, batch)
            refused += faults
            journal.mark_sent(len(batch), ids)
            for _ in batch:
                queue.popleft()
            on_sent()
    except Exception as error:  # noqa: BLE001
        _leave_to_next(journal, len(queue), error)
        return False
    journal.delete()
    if count := len(journal.operations):
        logger.info("sent MLflow %d operations of an earlier run, %d refused", count, refused)
    return True


def _deliver(sender: Sender, batch: list[Operation]) -> tuple[dict[str, str], int]:
    """Send operations of an earlier run; ids of runs, and how many MLflow refused."""
    try:
        return sender.send(batch, again=True), 0
    except RefusedError:
        if len(batch) == 1:
            return {}, 1
        return {}, sum(_deliver(sender, [one])[1] for one in batch)


def _leave_to_next(journal: Journal, count: int, error: Exception) -> None:
    journal.count_try()
    where: Path = journal.file
    if journal.tries < MAX_TRIES:
        journal.close()
    else:
        where = journal.set_aside()
    logger.warning("MLflow misses %d operations of an earlier run (%s): %s", count, where, error)
