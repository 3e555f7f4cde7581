import pytest
from mlflow.tracking import MlflowClient

from losslab.tracking import MlflowGuard


def fail_in_mlflow() -> None:
    MlflowClient("http://127.0.0.1:9").get_run("no such run")


def test_exceptions_of_mlflow_are_swallowed_and_told_once(caplog):
    guard, calls = MlflowGuard(), []
    guard.on_failure = lambda: calls.append("off")
    for _ in range(2):
        with guard:
            fail_in_mlflow()
    assert not guard.works
    assert calls == ["off"]
    (record,) = caplog.records
    assert record.getMessage().startswith("MLflow failed; what it misses is sent later: ")
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


def test_failures_of_others_share_the_one_warning(caplog):
    guard = MlflowGuard()
    guard.warn(ConnectionError("first"))
    with guard:
        fail_in_mlflow()
    assert [record.getMessage() for record in caplog.records] == [
        "MLflow failed; what it misses is sent later: first"
    ]
