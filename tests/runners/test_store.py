"""Tasks whose files travel through a store: the worker sees nothing of the parent's folder."""

from pathlib import Path

import pytest
from kedro.io import Version
from kedro.pipeline import Node

from losslab.datasets import JSONDataset
from losslab.datasets.folders import CheckpointsDataset, FolderDataset
from losslab.manifest import BrokenFileError
from losslab.runners.store import CHECKPOINTS, CheckpointCopies, Store, StoredTask
from losslab.runners.tasks import NodeTask, Outcome, run_task


def double(numbers, factor, checkpoints, failures):
    """Write a checkpoint and a note, then double; a negative number is a failure."""
    training = checkpoints.of_training("bce/seed_1", {"job": 1})
    earlier = training.finished() is not None
    training.finish({"result.json": {"seed": 1}})
    (failures / "bce").mkdir(parents=True)
    (failures / "bce/fault.json").write_text("{}")
    if numbers["number"] < 0:
        raise ArithmeticError("negative")
    return {"number": factor * numbers["number"], "continued": earlier}


NODE = Node(
    double, ["numbers", "params:factor", "checkpoints", "failures"], "doubled", name="a.b.double"
)


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(f"file://{tmp_path}/store")


def make_task(folder: Path, store: Store, number: int = 3) -> NodeTask:
    version = Version(None, "2026-01-01T00.00.00.000Z")
    numbers = JSONDataset(filepath=str(folder / "numbers.json"), version=version)
    numbers.save({"number": number})
    checkpoints = CheckpointsDataset(filepath=str(folder / "checkpoints"), interval=0)
    checkpoints.key = "bce-1234"
    checkpoints.copies = CheckpointCopies(store, checkpoints.key)
    datasets = {
        "numbers": numbers,
        "doubled": JSONDataset(filepath=str(folder / "doubled.json"), version=version),
        "checkpoints": checkpoints,
        "failures": FolderDataset(filepath=str(folder / "failures"), scratch=True),
    }
    return NodeTask(NODE, datasets, {"params:factor": 2})


def run_elsewhere(sent: StoredTask, folder: Path) -> Outcome:
    """Run a task while the parent's folder is out of sight."""
    hidden = folder.rename(folder.with_name("hidden"))
    outcome = run_task(sent, lambda message: None)
    assert not folder.exists()
    hidden.rename(folder)
    return outcome


def test_outputs_come_back_with_their_manifest(tmp_path, store):
    task = make_task(tmp_path / "data", store)
    sent = StoredTask.send(task, store, "tasks/1")
    outcome = run_elsewhere(sent, tmp_path / "data")
    assert outcome.error is None
    sent.receive(outcome)
    doubled = task.datasets["doubled"]
    assert doubled.load() == {"number": 6, "continued": False}
    assert doubled.latest.is_file()
    assert doubled.verified("2026-01-01T00.00.00.000Z").size > 0


def test_checkpoints_outlive_a_worker_and_are_cleared_by_the_parent(tmp_path, store):
    for number in (1, 2):
        task = make_task(tmp_path / f"data_{number}", store)
        sent = StoredTask.send(task, store, f"tasks/{number}")
        sent.receive(run_elsewhere(sent, tmp_path / f"data_{number}"))
        assert task.datasets["doubled"].load()["continued"] is (number == 2)
    task.datasets["checkpoints"].load().clear()
    assert list((tmp_path / "store" / CHECKPOINTS).rglob("*.json")) == []


def test_failed_task_has_no_outputs_but_what_it_wrote_about_the_failure(tmp_path, store):
    task = make_task(tmp_path / "data", store, number=-1)
    sent = StoredTask.send(task, store, "tasks/1")
    outcome = run_elsewhere(sent, tmp_path / "data")
    assert "negative" in str(outcome.error)
    sent.receive(outcome)
    assert (tmp_path / "data/failures/bce/fault.json").is_file()
    assert task.datasets["doubled"].versions() == []


def test_each_content_is_stored_once(tmp_path, store):
    for number in (1, 2):
        StoredTask.send(make_task(tmp_path / f"data_{number}", store), store, f"tasks/{number}")
    assert len(list((tmp_path / "store").iterdir())) == 1


def test_file_that_was_damaged_in_the_store_is_refused(tmp_path, store):
    sent = StoredTask.send(make_task(tmp_path / "data", store, number=5), store, "tasks/1")
    (stored,) = (tmp_path / "store").iterdir()
    stored.write_bytes(stored.read_bytes().replace(b"5", b"7"))
    outcome = run_task(sent, lambda message: None)
    assert "another sha256" in str(outcome.error)


def test_half_copied_file_is_copied_again(tmp_path, store):
    file = tmp_path / "file"
    file.write_text("content")
    store.put_content(file, "digest")
    (tmp_path / "store/digest").write_text("con")
    store.put_content(file, "digest")
    assert (tmp_path / "store/digest").read_text() == "content"


def test_missing_content_of_another_name_is_broken(tmp_path, store):
    file = tmp_path / "file"
    file.write_text("content")
    store.put(file, "0" * 64)
    with pytest.raises(BrokenFileError, match="has another sha256"):
        store.get_content("0" * 64, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
