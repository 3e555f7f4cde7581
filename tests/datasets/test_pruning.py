"""Pruning: what nothing refers to goes, everything else stays."""

import os

import pytest
from kedro.io import Version

from losslab.datasets import JSONDataset, TextDataset
from losslab.datasets.pruning import find_old_checkpoints, find_versions, remove, select_unused
from losslab.manifest import Lineage, Provenance


@pytest.fixture
def save(tmp_path):
    def save_version(name, version, *, run="", lineage=None):
        kind = TextDataset if name.endswith("html") else JSONDataset
        dataset = kind(filepath=str(tmp_path / "data" / name), version=Version(None, version))
        made = Lineage(datasets=lineage or {})
        dataset.provenance = Provenance(run={"id": run}, lineage=made)
        dataset.save(f"{name} {version}")
        return dataset.manifest.sha256[:16]

    return save_version


def unused(tmp_path, keep=1, runs=()):
    chosen = select_unused(find_versions(tmp_path / "data"), keep=keep, runs=runs)
    return {f"{each.dataset}/{each.folder.name}" for each in chosen}


def test_newest_versions_are_kept(tmp_path, save):
    for version in "1234":
        save("scores.json", version)
    assert unused(tmp_path, keep=2) == {"scores.json/1", "scores.json/2"}
    assert unused(tmp_path, keep=9) == set()


def test_what_a_kept_report_was_made_of_is_kept(tmp_path, save):
    first = save("scores.json", "1")
    for version in "23":
        save("scores.json", version)
    save("cwe/report.html", "1", lineage={"db_loss_scores": first})
    assert unused(tmp_path) == {"scores.json/2"}


def test_results_of_runs_in_mlflow_are_kept(tmp_path, save):
    for version in "123":
        save("metrics.json", version, run=f"session {version}")
        save("scores.json", version, run=f"session {version}")
    found = unused(tmp_path, runs={"session 1"})
    assert found == {"metrics.json/2", "scores.json/1", "scores.json/2"}


def test_model_that_a_run_in_mlflow_evaluated_is_kept(tmp_path, save):
    """An earlier session trained it, whose run is gone."""
    first = save("model.safetensors", "1", run="earlier")
    scores = save("scores.json", "1", run="earlier")
    for name in ("model.safetensors", "scores.json"):
        save(name, "2", run="other")
    made_of = {"db_loss_model": first, "db_loss_scores": scores}
    save("metrics.json", "1", run="later", lineage=made_of)
    save("metrics.json", "2", run="other")
    assert unused(tmp_path, runs={"later"}) == {"scores.json/1"}
    assert "model.safetensors/1" in unused(tmp_path)


def test_versions_without_a_manifest_go_first(tmp_path, save):
    for version in "12":
        save("scores.json", version)
    (tmp_path / "data/scores.json/2/manifest.json").unlink()
    assert unused(tmp_path) == {"scores.json/2"}


def test_removed_versions_leave_the_others_as_they_are(tmp_path, save):
    for version in "12":
        save("scores.json", version)
    remove(select_unused(find_versions(tmp_path / "data"), keep=1, runs=()))
    dataset = JSONDataset(filepath=str(tmp_path / "data/scores.json"), version=Version(None, None))
    assert dataset.versions() == ["2"]
    assert dataset.load() == "scores.json 2"


def test_checkpoints_are_old_after_a_week(tmp_path):
    for name in ("new", "old"):
        (tmp_path / "06_models/cwe/probe/checkpoints" / name).mkdir(parents=True)
    os.utime(tmp_path / "06_models/cwe/probe/checkpoints/old", (0, 0))
    assert [path.name for path in find_old_checkpoints(tmp_path)] == ["old"]
