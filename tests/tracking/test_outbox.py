"""Operations against a server that fails, hangs, refuses or loses its answers."""

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest
from fake_mlflow_server import FakeServer, serve

from losslab.tracking import (
    Journal,
    MlflowSender,
    Outbox,
    TrainingRuns,
    describe_process,
    without_credentials,
)
from losslab.tracking.outbox import RefusedError
from losslab.tracking.training_runs import is_charted

TAGS = {"dataset": "cwe", "recipe": "probe"}
CHILD = "db_loss seed 1 (cwe, probe)"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Short pauses, and a second of patience for a server that hangs."""
    for name, value in {"MAX_PAUSE": 0.01, "LAST_PAUSE": 0.01, "SILENCE": 3.0}.items():
        monkeypatch.setattr(f"losslab.tracking.outbox.{name}", value)
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "1")


class Run:
    """A ``kedro run`` as MLflow sees it."""

    def __init__(self, folder: Path, server: FakeServer, on_failure=lambda error: None) -> None:
        header = {
            "tracking_uri": server.url,
            "experiment": "losslab",
            "artifact_location": None,
            "process": describe_process(),
        }
        self.journal = Journal.create(folder, header)
        sender = MlflowSender(server.url, self.journal.header, folder)
        self.outbox = Outbox(sender, self.journal, on_failure)
        self.runs = TrainingRuns(self.outbox.put, tags=TAGS)

    def train(self, name: str = "parent") -> None:
        self.runs.open_parent(name, {})
        for task in ("send_earlier", "tidy"):
            self.outbox.put({"do": task})
        self.runs.start("db", 1, {"gamma": 2})
        for epoch in range(1, 4):
            self.runs.log_metrics("db", 1, epoch, {"train/loss": 1 / epoch})
        self.runs.log_artifact({"a": 1}, "rules.json", ("db", 1))

    def end(self) -> int:
        self.runs.finish_all("FINISHED")
        self.runs.end_parent("FINISHED")
        return self.outbox.close()


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "outbox"


def assert_complete(server: FakeServer, parents: int = 1) -> None:
    """Each parent has its child, with its curve, artifact and status."""
    assert len(server.runs) == 2 * parents
    ids = {run["info"]["run_id"] for run in server.runs.values()}
    for run in server.runs.values():
        assert run["info"]["status"] == "FINISHED"
        if run["info"]["run_name"] != CHILD:
            continue
        tags = {tag["key"]: tag["value"] for tag in run["data"]["tags"]}
        assert tags["mlflow.parentRunId"] in ids - {run["info"]["run_id"]}
        assert run["data"]["params"] == [{"key": "gamma", "value": "2"}]
        assert [point["step"] for point in run["data"]["metrics"]] == [1, 2, 3]
        assert run["info"]["end_time"] == run["data"]["metrics"][-1]["timestamp"]
        assert f"1/{run['info']['run_id']}/rules.json" in server.artifacts


def test_operations_arrive_and_the_file_goes(folder):
    with serve(FakeServer()) as server:
        run = Run(folder, server)
        run.train()
        assert run.end() == 0
    assert_complete(server)
    assert list(folder.iterdir()) == []


def test_metrics_of_a_run_share_a_request(folder):
    with serve(FakeServer()) as server:
        run = Run(folder, server)
        run.train()
        run.end()
    batches = [body for method, body in server.requests if method == "runs/log-batch"]
    assert [len(body.get("metrics", ())) for body in batches] == [3]


def train_side_by_side(run: Run) -> None:
    run.runs.open_parent("parent", {})
    for loss in ("db", "cb"):
        run.runs.start(loss, 1, {"gamma": 2})
    for epoch in range(1, 51):
        for loss in ("db", "cb"):
            run.runs.log_metrics(loss, 1, epoch, {"train/loss": 1 / epoch})


@pytest.mark.parametrize("failure", [None, "lost"])
def test_metrics_of_trainings_side_by_side_take_a_request_each(folder, failure):
    with serve(FakeServer(*([failure, "runs/log-batch"] if failure else []))) as server:
        run = Run(folder, server, on_failure=lambda error: server.heal())
        train_side_by_side(run)
        assert run.end() == 0
    batches = [body for method, body in server.requests if method == "runs/log-batch"]
    if failure is None:
        assert len([body for body in batches if body.get("metrics")]) < 10  # of sixty-six
    for run in server.runs.values():
        points = run["data"].get("metrics", [])
        steps = sorted({point["step"] for point in points})
        charted = [step for step in range(1, 51) if is_charted(step) or step == 50]
        assert steps == (charted if points else [])
        assert len(points) == len(steps)


@pytest.mark.parametrize("failure", ["500", "closed", "lost"])
@pytest.mark.parametrize(
    "method", ["experiments/get", "runs/create", "runs/log-batch", "artifacts", "runs/update"]
)
def test_failed_request_is_sent_again_and_nothing_is_doubled(folder, failure, method):
    with serve(FakeServer(failure, method)) as server:
        run = Run(folder, server, on_failure=lambda error: server.heal())
        run.train()
        assert run.end() == 0
    assert_complete(server)


class LateServer(FakeServer):
    """Does what it was asked after it has answered that it has not: its first searches find none."""

    def _do(self, method, body):
        answer = super()._do(method, body)
        looks_for_run = method == "runs/search" and "key" in body["filter"]
        return {} if looks_for_run and len(self.runs) == 1 else answer


def test_run_that_a_late_server_created_twice_is_kept_once(folder):
    with serve(LateServer("lost", "runs/create")) as server:
        run = Run(folder, server, on_failure=lambda error: server.heal())
        run.train()
        assert run.end() == 0
    assert "runs/delete" in dict(server.requests)
    assert_complete(server)


def test_what_a_dead_server_missed_is_sent_by_the_next_run(folder):
    with serve(FakeServer("closed", "")) as server:
        run = Run(folder, server)
        run.train("first")
        started = run.journal.file.read_text()
        assert run.end() > 0
        server.heal()
        run = Run(folder, server)
        run.train("second")
        assert run.end() == 0
    assert_complete(server, parents=2)
    created = json.loads(started.splitlines()[1])["put"]
    assert server.named("first")["info"]["start_time"] == created["start_time"]
    assert list(folder.iterdir()) == []


def test_server_that_dies_in_mid_run_gets_the_rest_from_the_next(folder):
    with serve(FakeServer("closed", "artifacts")) as server:
        run = Run(folder, server)
        run.train("first")
        assert run.end() > 0
        assert server.statuses() == {"first": "RUNNING", CHILD: "RUNNING"}
        server.heal()
        run = Run(folder, server)
        run.train("second")
        run.end()
    assert_complete(server, parents=2)


@pytest.mark.slow
def test_hung_server_holds_nobody_up(folder):
    with serve(FakeServer("hangs", "runs/log-batch")) as server:
        run = Run(folder, server)
        run.train("first")  # returns: nothing here waits for the server
        assert run.end() > 0
        server.heal()
        server.stopped.set()
        run = Run(folder, server)
        run.train("second")
        run.end()
    assert_complete(server, parents=2)


def test_failures_are_told_and_an_answer_ends_the_waiting(folder):
    failures: list[Exception] = []
    with serve(FakeServer("500", "runs/create")) as server:
        run = Run(folder, server, failures.append)
        run.runs.open_parent("parent", {})
        assert not run.outbox.flush(10)
        assert failures
        server.heal()
        run.outbox.close()
        assert server.statuses() == {"parent": "RUNNING"}


def test_refused_operation_is_told_and_the_others_are_sent(folder, caplog):
    with serve(FakeServer("400", "runs/log-batch", recovers=True)) as server:
        run = Run(folder, server)
        run.train()
        assert run.end() == 0
    assert server.statuses() == {"parent": "FINISHED", CHILD: "FINISHED"}
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert [record.getMessage() for record in warnings] == [
        "MLflow refused to log: INVALID_PARAMETER_VALUE: no such thing"
    ]
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("earlier", [False, True])
def test_run_that_cannot_be_created_is_given_up(folder, caplog, earlier):
    with serve(FakeServer("closed" if earlier else "400", "runs/create")) as server:
        run = Run(folder, server)
        run.train("first")
        left = run.end()
        assert (left > 0) == earlier
        if earlier:
            server.failure, server.failed, server.recovers = "400", [], True
            run = Run(folder, server)
            run.train("second")
            run.end()
    assert server.runs == {}
    assert list(folder.iterdir()) == []


def test_one_bad_metric_does_not_take_its_batch_along(folder):
    sent: list[str] = []

    class Sender:
        def send(self, batch, *, again):
            if any(one["name"] == "bad" for one in batch):
                raise RefusedError("bad")
            sent.extend(one["name"] for one in batch)
            return {}

    outbox = Outbox(Sender(), Journal.create(folder, {}), lambda error: None)
    for name in ("a", "bad", "b"):
        outbox.put({"do": "log", "run": "db/1", "name": name})
    assert outbox.close() == 0
    assert sent == ["a", "b"]


def leave_file(folder: Path, server: FakeServer) -> Path:
    """A run that could send nothing."""
    server.failure, server.fails_at = "closed", ""
    run = Run(folder, server)
    run.train("earlier")
    assert run.end() > 0
    server.heal()
    return run.journal.file


def test_file_of_another_server_is_left_alone(folder):
    with serve(FakeServer()) as one, serve(FakeServer()) as other:
        file = leave_file(folder, other)
        run = Run(folder, one)
        run.train()
        run.end()
        assert_complete(one)
        assert other.runs == {}
        assert file.exists()


def test_file_that_another_process_sends_is_left_alone(folder):
    with serve(FakeServer()) as server:
        file = leave_file(folder, server)
        taken = Journal.take(file)
        run = Run(folder, server)
        run.train("second")
        run.end()
        assert_complete(server)
        taken.close()
        run = Run(folder, server)
        run.train("third")
        run.end()
    assert_complete(server, parents=3)


def test_file_that_fails_again_and_again_is_set_aside(folder, caplog, monkeypatch):
    monkeypatch.setattr("losslab.tracking.outbox.MAX_TRIES", 2)
    with serve(FakeServer()) as server:
        file = leave_file(folder, server)
        for _ in range(2):
            server.failure, server.fails_at, server.recovers = "500", "runs/search", True
            run = Run(folder, server)
            run.outbox.put({"do": "send_earlier"})
            run.outbox.close()
    assert not file.exists()
    assert file.with_suffix(".unsent").exists()
    assert "operations of an earlier run" in caplog.text


KILLED = """
import os, signal, sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from test_outbox import FakeServer, Run
server = FakeServer()
server.url = sys.argv[3]
run = Run(Path(sys.argv[2]), server)
run.train("first")
run.runs.finish("db", 1, "FINISHED")
run.runs.start("bce", 1, {})
if sys.argv[4] == "sent":
    run.outbox.flush(20)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
@pytest.mark.parametrize("when", ["sent", "unsent"])
def test_after_a_kill_finished_trainings_are_finished_and_open_ones_killed(folder, when):
    with serve(FakeServer("closed", "runs/create" if when == "unsent" else None)) as server:
        tests = [str(Path(__file__).parent), str(folder), server.url, when]
        path = ":".join([str(Path(__file__).parents[1]), *sys.path])
        subprocess.run([sys.executable, "-c", KILLED, *tests], env={"PYTHONPATH": path})
        (file,) = folder.glob("*.jsonl")
        died_at = int(file.stat().st_mtime * 1000)
        server.heal()
        run = Run(folder, server)
        run.runs.open_parent("second", {})
        run.outbox.put({"do": "send_earlier"})
        run.outbox.put({"do": "tidy"})
        run.end()
    killed = "bce_loss seed 1 (cwe, probe)"
    assert server.statuses() == {
        "first": "KILLED",
        CHILD: "FINISHED",
        killed: "KILLED",
        "second": "FINISHED",
    }
    assert server.named(killed)["info"]["end_time"] == died_at
    assert list(folder.iterdir()) == []


def test_line_that_was_cut_off_is_skipped(folder):
    with serve(FakeServer()) as server:
        file = leave_file(folder, server)
        with file.open("a") as stream:
            stream.write('\n{"number": 99, "put": {"do": "lo')
        run = Run(folder, server)
        run.train("second")
        run.end()
    assert_complete(server, parents=2)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b'{"header": {}}\n[1]\n{"number": 1}'])
def test_file_without_a_header_goes(folder, content):
    folder.mkdir()
    (folder / "0.jsonl").write_bytes(content)
    with serve(FakeServer()) as server:
        run = Run(folder, server)
        run.train()
        run.end()
    assert_complete(server)
    assert list(folder.iterdir()) == []


def test_folder_that_cannot_be_written_costs_a_warning(tmp_path, caplog):
    (tmp_path / "data").write_text("a file in its place")
    with serve(FakeServer()) as server:
        run = Run(tmp_path / "data" / "outbox", server)
        run.train()
        assert run.end() == 0
    assert_complete(server)
    assert "is not kept for the next" in caplog.text


def test_address_loses_its_password_and_nothing_else():
    assert without_credentials("http://me:secret@host:5000/a@b") == "http://host:5000/a@b"
    assert without_credentials("sqlite:////tmp/a@b/mlflow.db") == "sqlite:////tmp/a@b/mlflow.db"
