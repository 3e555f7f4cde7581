"""Locks between runs: who has one, and what a run that waited takes over."""

import logging
import os
import time
from threading import Thread

import pytest
from test_incremental import CALLS, PIPELINE, Runs

from losslab.manifest import SHORT
from losslab.runners import RunPlan
from losslab.runners.locks import RunLock


@pytest.fixture(autouse=True)
def told(caplog):
    caplog.set_level(logging.INFO, "losslab")
    return caplog


def test_lock_that_is_held_is_not_had_and_its_holder_is_told_once(tmp_path, told):
    holder, other = (RunLock(tmp_path, "key", work) for work in ("first", "second"))
    assert holder.acquire()
    assert not other.acquire()
    assert not other.acquire()
    (line,) = told.messages
    assert line.startswith(f"second: waiting for process {os.getpid()} (")
    assert line.endswith("), which computes the same")
    assert (holder.waited, other.waited) == (False, True)
    holder.release()
    assert other.acquire()
    other.release()
    assert list(tmp_path.iterdir()) == []


def test_locks_of_other_keys_do_not_wait(tmp_path):
    locks = [RunLock(tmp_path, key, "work") for key in ("one", "two")]
    assert [lock.acquire() for lock in locks] == [True, True]
    for lock in locks:
        lock.release()


def test_run_that_waited_takes_what_the_holder_saved(tmp_path, told):
    run = Runs(tmp_path)
    run()
    plan = RunPlan(PIPELINE, run.catalog(power=3))
    nodes = {node.name: node for node in plan.order}
    plan.record(nodes["read"], plan.fingerprint(nodes["read"]))
    node = nodes["all.square.total"]
    made, dataset = plan.fingerprint(node), plan.datasets["square_total"]
    lock = RunLock(tmp_path / "square_total.json", made.fingerprint[:SHORT], "holder")
    assert lock.acquire()
    waiter = Thread(target=run, kwargs={"power": 3}, daemon=True)
    waiter.start()
    wait_for(lambda: f"{node.name}: waiting for process {os.getpid()}" in told.text)
    dataset.provenance = made
    dataset.save({"total": "of the holder"})
    lock.release()
    waiter.join(timeout=60)
    assert "square" not in CALLS
    assert run.load("square_total") == {"total": "of the holder"}
    assert run.load("report")["square"] == "{'total': 'of the holder'}"


def wait_for(condition, seconds=60):
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.01)
