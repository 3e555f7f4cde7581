import pytest
from mlflow.tracking import MlflowClient

from losslab.tracking import MlflowGuard


def fail_in_mlflow() -> None:
    MlflowClient("http://127.0.0.1:9").get_run("no such run")


def fail_elsewhere() -> None:
    raise ConnectionError("ours")


def test_exceptions_of_mlflow_are_swallowed_and_turn_tracking_off_once(caplog):
    guard, calls = MlflowGuard(), []
    guard.on_failure = lambda: calls.append("off")
    for _ in range(2):
        with guard:
            fail_in_mlflow()
    assert not guard.works
    assert calls == ["off"]
    (record,) = caplog.records
    assert record.getMessage().startswith("MLflow failed, tracking is off for the rest of this run")
    assert "no such run" in record.getMessage()


@pytest.mark.parametrize("error", [ConnectionError, KeyboardInterrupt, SystemExit])
def test_exceptions_of_others_pass(error):
    guard = MlflowGuard()
    with pytest.raises(error), guard:
        raise error
    assert guard.works


def test_interruption_inside_mlflow_passes(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("mlflow.tracking.client.MlflowClient.get_run", interrupt)
    with pytest.raises(KeyboardInterrupt), MlflowGuard():
        fail_in_mlflow()


def test_after_a_failure_nothing_is_attempted_but_statuses_are_set():
    guard, calls = MlflowGuard(), []
    assert guard.attempt(fail_elsewhere) is None
    guard.attempt(calls.append, "metric")
    guard.set_status(calls.append, "FAILED")
    assert calls == ["FAILED"]


def test_server_that_misses_a_status_is_not_asked_again(caplog):
    guard, calls = MlflowGuard(), []
    guard.set_status(fail_elsewhere)
    guard.set_status(calls.append, "FINISHED")
    assert calls == []
    assert len(caplog.records) == 1
