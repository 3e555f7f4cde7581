"""Trainings on a Ray cluster of two nodes, simulated on this machine: the same numbers."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import command, environment, make_small_project, newest, read_json, runner_in
from mlflow.tracking import MlflowClient

pytestmark = pytest.mark.slow
ray = pytest.importorskip("ray")
RUNNER = "--runner=losslab.runners.RayRunner"
TRAINING = {"epochs": 400, "patience": 400, "batch_size": 8}  # long enough to be killed in
LONG = ",".join(f"recipes.probe.training.{name}={value}" for name, value in TRAINING.items())
WORDS = ("run", "--env=test", "--verbose", "--losses=bce,sbayes_f1", f"--params={LONG}")


@pytest.fixture(scope="module")
def alone(tmp_path_factory, mlflow_store) -> dict[str, object]:
    """The results of a run in one process."""
    project = make_small_project(tmp_path_factory.mktemp("alone") / "project", mlflow_store)
    done = runner_in(project)(*WORDS, "--workers=1")
    assert done.returncode == 0, done.stderr
    return results(project)


def results(project: Path) -> dict[str, object]:
    """Metrics and weights of every loss."""
    found: dict[str, object] = {}
    for loss in ("bce", "sbayes_f1"):
        metrics = read_json(project / f"data/08_reporting/cwe/probe/{loss}_loss/metrics.json")
        found[loss] = metrics["seeds"], metrics["intervals"], metrics["made_of"]
        model = project / f"data/06_models/cwe/probe/{loss}_loss/model.safetensors"
        found[f"{loss} model"] = newest(model).read_bytes()
    return found


def statuses(project: Path) -> list[str]:
    client = MlflowClient(f"sqlite:///{project}/mlflow.db")
    experiment = client.get_experiment_by_name("losslab")
    return [run.info.status for run in client.search_runs([experiment.experiment_id])]


@pytest.fixture(scope="module")
def s3(module_patch) -> Iterator[str]:
    """A bucket of an S3-compatible server on the loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stderr=subprocess.DEVNULL,
    )
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        module_patch.setenv(name, value)
    try:
        wait_for_port(port)
        bucket().mkdir("losslab")
        yield "s3://losslab/runs"
    finally:
        server.terminate()
        server.wait()


def wait_for_port(port: int) -> None:
    for _ in range(300):
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError("the server does not answer")


def bucket():
    import fsspec

    return fsspec.filesystem("s3", use_listings_cache=False)


@pytest.fixture
def cluster(s3):
    """Two nodes of one CPU each."""
    from ray.cluster_utils import Cluster

    options = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 10**8}
    cluster = Cluster(initialize_head=True, head_node_args=options)
    cluster.add_node(num_cpus=1, object_store_memory=10**8)
    yield cluster
    cluster.shutdown()


def words(cluster, *more: str) -> tuple[str, ...]:
    params = ",".join([f"address={cluster.address}", *more])
    return (*WORDS, RUNNER, f"--runner-params={params}")


def start(project: Path, cluster, *more: str) -> subprocess.Popen[str]:
    """Start a run; returns when both nodes train."""
    process = subprocess.Popen(
        command(*words(cluster, *more)),
        cwd=project,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    seen = (line for line in process.stderr if "training starts" in line)
    for _ in range(2):
        assert next(seen, None) is not None
    return process


def finish(process: subprocess.Popen[str]) -> str:
    told = process.communicate(timeout=300)[1]
    assert process.returncode == 0, told
    return told


@pytest.mark.long
@pytest.mark.parametrize("shared", [True, False])
def test_lost_node_costs_nothing_but_time(alone, project, cluster, s3, shared):
    process = start(project, cluster, *([] if shared else [f"store={s3}"]))
    cluster.remove_node(cluster.list_all_nodes()[-1], allow_graceful=False)
    told = finish(process)
    assert "its worker died; it is begun again on" in told
    assert results(project) == alone
    assert statuses(project) == ["FINISHED"] * 3
    stored = [path.removeprefix("losslab/runs/") for path in bucket().find(s3)]
    assert bool(stored) is not shared
    assert [path for path in stored if "/" in path] == []  # contents alone: tasks are done


@pytest.mark.long
def test_interrupted_run_is_continued(alone, project, kedro, cluster):
    process = start(project, cluster)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode != 0
    assert statuses(project) == ["KILLED"] * 3
    done = kedro(*words(cluster))
    assert done.returncode == 0, done.stderr
    assert "continues after step" in done.stderr or "was finished" in done.stderr
    assert results(project) == alone


def test_recipe_that_no_node_has_room_for_is_told_at_once(project, kedro, cluster):
    bad = "--params=recipes.probe.training.processes=64"
    done = kedro("run", "--env=test", "--losses=bce", bad, *words(cluster)[-2:])
    assert done.returncode == 1
    assert "no node of the Ray cluster has 64 CPUs" in done.stderr.splitlines()[-1]
