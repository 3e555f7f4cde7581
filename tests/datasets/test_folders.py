"""Datasets of folders: results of folds."""

import pytest
from kedro.io import DatasetError, Version

from losslab.datasets import FoldMetricsDataset, JSONDataset


def save(folder, fold, loss, value, version):
    file = folder / f"cwe-folds=2/fold={fold}/probe/{loss}_loss/metrics.json"
    JSONDataset(filepath=file.as_posix(), version=Version(None, version)).save({"mean": value})


@pytest.fixture
def dataset(tmp_path):
    return FoldMetricsDataset(filepath=f"{tmp_path.as_posix()}/cwe-folds=2/fold=*/probe")


def test_newest_results_are_found_by_loss_and_fold(tmp_path, dataset):
    save(tmp_path, 1, "bce", 0.1, "2026-01")
    save(tmp_path, 1, "bce", 0.2, "2026-02")
    save(tmp_path, 2, "bce", 0.3, "2026-01")
    save(tmp_path, 2, "db", 0.4, "2026-01")
    assert dataset.exists()
    assert dataset.load() == {
        "bce": {1: {"mean": 0.2}, 2: {"mean": 0.3}},
        "db": {2: {"mean": 0.4}},
    }


def test_results_saved_after_the_first_look_are_not_read(tmp_path, dataset):
    save(tmp_path, 1, "bce", 0.1, "2026-01")
    before = dataset.fingerprint()
    save(tmp_path, 1, "bce", 0.2, "2026-02")
    save(tmp_path, 2, "bce", 0.3, "2026-02")
    assert dataset.load() == {"bce": {1: {"mean": 0.1}}}
    assert dataset.fingerprint() == before


def test_other_recipes_and_cross_validations_are_not_read(tmp_path, dataset):
    for other in ("cwe-folds=2/fold=1/lstm", "cwe-folds=4/fold=1/probe", "cwe/probe"):
        file = tmp_path / other / "bce_loss/metrics.json"
        JSONDataset(filepath=file.as_posix(), version=Version(None, "v")).save({"mean": 1})
    assert dataset.load() == {}
    assert not dataset.exists()


def test_folds_are_an_input(dataset):
    with pytest.raises(DatasetError, match="each fold saves its own results"):
        dataset.save({})
