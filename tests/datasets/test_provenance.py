"""Where the results of a run come from."""

import subprocess

import pytest
from kedro.io import DatasetError

from losslab.datasets import ProvenanceDataset


def git(folder, *words):
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    done = subprocess.run(
        ["git", *identity, *words],  # noqa: S607
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def test_provenance_is_the_command_the_commit_of_the_project_and_versions(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["/somewhere/kedro", "run", "--losses=bce"])
    git(tmp_path, "init")
    git(tmp_path, "commit", "--allow-empty", "-m", "first")
    dataset = ProvenanceDataset(filepath=str(tmp_path))
    run = dataset.load()
    assert (run["command"], run["dirty"]) == ("kedro run --losses=bce", False)
    assert run["commit"] == git(tmp_path, "rev-parse", "HEAD")
    assert {"python", "torch", "losslab"} <= set(run["versions"])
    (tmp_path / "new").touch()
    assert dataset.load()["dirty"] is True


def test_commit_is_unknown_without_a_repository(tmp_path):
    run = ProvenanceDataset(filepath=str(tmp_path)).load()
    assert (run["commit"], run["dirty"]) == ("unknown", None)


def test_provenance_is_not_written():
    with pytest.raises(DatasetError, match="no node returns it"):
        ProvenanceDataset(filepath=".").save({})
