import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from kedro.io import DatasetError, Version
from plotly import graph_objects as go
from scipy import sparse

from losslab.datasets import (
    CSVDataset,
    FigureDataset,
    JSONDataset,
    PageDataset,
    ParquetDataset,
    PredictionsDataset,
    RawFolderDataset,
    SoftLabelsDataset,
    SparseMatrixDataset,
    TensorsDataset,
)
from losslab.evaluation import Predictions
from losslab.supervision import SoftLabels, mix_soft_targets

NEWEST = Version(None, None)
TABLE = pd.DataFrame({"label": ["a", "b"], "count": [3, 1]})
MATRIX = sparse.csr_array(np.array([[0, 1], [1, 0], [0, 0]], dtype=np.int8))


def same_tables(left, right):
    pd.testing.assert_frame_equal(left, right)


def same_predictions(left, right):
    assert left.primary == right.primary
    assert left.matrices.keys() == right.matrices.keys()
    for key, matrix in left.matrices.items():
        assert np.array_equal(matrix.toarray(), right.matrices[key].toarray())


CASES = {
    "json": (lambda path: JSONDataset(filepath=path, version=NEWEST), {"a": [1, 2]}, None),
    "parquet": (lambda path: ParquetDataset(filepath=path, version=NEWEST), TABLE, same_tables),
    "csv": (
        lambda path: CSVDataset(filepath=path, version=NEWEST, save_args={"index": False}),
        TABLE,
        same_tables,
    ),
    "figure": (
        lambda path: FigureDataset(filepath=path, version=NEWEST),
        go.Figure(go.Bar(x=["a"], y=[1])),
        None,
    ),
    "tensors": (
        lambda path: TensorsDataset(filepath=path, version=NEWEST),
        {"w": np.arange(6, dtype=np.float32).reshape(2, 3).T},
        lambda left, right: np.testing.assert_array_equal(left["w"], right["w"]),
    ),
    "sparse": (
        lambda path: SparseMatrixDataset(filepath=path, version=NEWEST),
        MATRIX,
        lambda left, right: np.testing.assert_array_equal(left.toarray(), right.toarray()),
    ),
    "predictions": (
        lambda path: PredictionsDataset(filepath=path, version=NEWEST),
        Predictions("tuned", {("test", "tuned", "0"): MATRIX.astype(bool)}),
        same_predictions,
    ),
    "page": (lambda path: PageDataset(filepath=path, version=NEWEST), "<p>é</p>", None),
}


@pytest.fixture(params=CASES, ids=str)
def case(request, tmp_path):
    make, data, compare = CASES[request.param]
    path = tmp_path / "folder" / f"file.{request.param}"
    return make(path.as_posix()), data, compare, path


def test_what_was_saved_is_loaded(case):
    dataset, data, compare, _ = case
    assert not dataset.exists()
    dataset.save(data)
    assert dataset.exists()
    if compare:
        compare(dataset.load(), data)
    else:
        assert dataset.load() == data


def test_saving_leaves_one_complete_file_in_a_version_folder(case):
    dataset, data, _, path = case
    dataset.save(data)
    files = [file for file in path.rglob("*") if file.is_file()]
    assert [file.name for file in files] == [path.name]
    assert files[0].parent.parent == path


def die(*_):
    raise KeyboardInterrupt


def test_a_save_that_dies_half_way_is_never_read(case, monkeypatch):
    dataset, data, _, path = case
    monkeypatch.setattr(type(dataset._fs), "mv", die)
    with pytest.raises(KeyboardInterrupt):
        dataset.save(data)
    assert [file.name for file in path.rglob("*") if file.is_file()] == [f".{path.name}.part"]
    assert not dataset.exists()


def save_versions(tmp_path, *versions):
    """Metrics of which each version holds its own name, saved in that order."""
    for version in versions:
        dataset = JSONDataset(
            filepath=(tmp_path / "metrics.json").as_posix(), version=Version(None, version)
        )
        dataset.save({"version": version})
    return dataset


def test_latest_is_the_newest_version_under_a_path_that_does_not_change(tmp_path):
    latest = tmp_path / "latest" / "metrics.json"
    for version in ("1", "2"):
        assert save_versions(tmp_path, version).latest == latest
        assert json.loads(latest.read_text()) == {"version": version}
    assert json.loads((tmp_path / "metrics.json/1/metrics.json").read_text()) == {"version": "1"}
    assert [file.name for file in latest.parent.iterdir()] == ["metrics.json"]


def test_latest_is_no_version_to_kedro(tmp_path):
    save_versions(tmp_path, "1", "2")
    dataset = JSONDataset(filepath=(tmp_path / "metrics.json").as_posix(), version=NEWEST)
    assert dataset.list_versions(full_path=False) == ["2", "1"]
    assert dataset.resolve_load_version() == "2"
    assert dataset.load() == {"version": "2"}


def test_latest_is_what_kedro_loads_when_an_older_run_saves_last(tmp_path):
    dataset = save_versions(tmp_path, "1", "3")
    with pytest.warns(UserWarning, match="did not match load version"):
        dataset = save_versions(tmp_path, "2")
    assert json.loads(dataset.latest.read_text()) == {"version": "3"}


def test_latest_goes_along_when_the_folder_moves(tmp_path):
    save_versions(tmp_path / "here", "1")
    (tmp_path / "here").rename(tmp_path / "there")
    assert json.loads((tmp_path / "there/latest/metrics.json").read_text()) == {"version": "1"}


def test_latest_is_a_copy_where_there_are_no_symlinks(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError("no symlinks")

    monkeypatch.setattr(Path, "symlink_to", refuse)
    dataset = save_versions(tmp_path, "1", "2")
    assert not dataset.latest.is_symlink()
    assert json.loads(dataset.latest.read_text()) == {"version": "2"}


def test_a_save_that_dies_half_way_leaves_latest_as_it_was(tmp_path, monkeypatch):
    dataset = save_versions(tmp_path, "1")
    monkeypatch.setattr(type(dataset._fs), "mv", die)
    with pytest.raises(KeyboardInterrupt):
        save_versions(tmp_path, "2")
    assert json.loads(dataset.latest.read_text()) == {"version": "1"}


def test_without_versions_the_file_itself_is_the_latest(tmp_path):
    dataset = JSONDataset(filepath=(tmp_path / "metrics.json").as_posix())
    dataset.save({"a": 1})
    assert json.loads(dataset.latest.read_text()) == {"a": 1}
    assert [file.name for file in tmp_path.iterdir()] == ["metrics.json"]


def test_page_has_a_latest_of_its_own_name(tmp_path):
    path = tmp_path / "report.html"
    for version, text in (("1", "old"), ("2", "new")):
        page = PageDataset(filepath=path.as_posix(), version=Version(None, version))
        page.save(text)
    assert page.latest == tmp_path / "latest.html"
    assert page.latest.read_text() == "new"
    assert (path / "1" / "report.html").read_text() == "old"


def test_sparse_file_with_a_pickle_is_refused(tmp_path):
    class Evil:
        def __reduce__(self):
            return os.system, ("exit 1",)

    path = tmp_path / "m.npz"
    (path / "1").mkdir(parents=True)
    np.savez(path / "1" / "m.npz", data=np.array([Evil()], dtype=object), format=np.array("csr"))
    dataset = SparseMatrixDataset(filepath=path.as_posix(), version=Version("1", None))
    with pytest.raises(DatasetError):
        dataset.load()


def test_raw_folder_is_the_projects_own_where_it_exists(tmp_path):
    dataset = RawFolderDataset(dataset="cwe", filepath=(tmp_path / "cwe").as_posix())
    assert (dataset.load() / "2000.csv").is_file()
    (tmp_path / "cwe").mkdir()
    (tmp_path / "cwe" / "2000.csv").touch()
    assert dataset.load() == tmp_path / "cwe"


def raw_folder(tmp_path, dataset):
    return RawFolderDataset(dataset=dataset, filepath=(tmp_path / dataset).as_posix())


def test_missing_raw_files_come_with_the_command_that_gets_them(tmp_path):
    dataset = raw_folder(tmp_path, "reuters")
    assert not dataset.exists()
    with pytest.raises(
        DatasetError, match=r"raw files of 'reuters' are missing: kedro fetch reuters$"
    ):
        dataset.load()
    with pytest.raises(DatasetError, match="read only"):
        dataset.save(Path())


def test_missing_licensed_files_come_with_the_steps_to_get_them(tmp_path):
    with pytest.raises(DatasetError, match=r"'yelp' are missing: .*by hand") as told:
        raw_folder(tmp_path, "yelp").load()
    assert f"put both files into {tmp_path / 'yelp'}" in str(told.value)


@pytest.mark.parametrize("name", ["simulated", "my_tickets"])
def test_the_folder_of_a_dataset_that_none_can_fetch_is_left_to_its_reader(tmp_path, name):
    assert raw_folder(tmp_path, name).exists()
    assert raw_folder(tmp_path, name).load() == tmp_path / name


def test_a_sample_is_told_on_each_load(tmp_path, caplog):
    (tmp_path / "yelp").mkdir()
    (tmp_path / "yelp" / "train.csv").write_text("1,a")
    raw_folder(tmp_path, "yelp").load()
    assert not caplog.records
    (tmp_path / "yelp.origin.json").write_text('{"sample": true}')
    raw_folder(tmp_path, "yelp").load()
    assert "'yelp' is a sample (yelp.origin.json)" in caplog.text


def test_figures_are_previewed_as_figures(tmp_path):
    dataset = FigureDataset(filepath=(tmp_path / "f.json").as_posix(), version=NEWEST)
    dataset.save(go.Figure(go.Bar(x=["a"], y=[1])))
    assert json.loads(json.dumps(dataset.preview()))["data"][0]["type"] == "bar"


@pytest.mark.parametrize("rows", [0, 1, 2, 5])
def test_preview_of_a_table_is_its_first_rows(tmp_path, rows):
    dataset = ParquetDataset(filepath=str(tmp_path / "table.parquet"))
    table = pd.DataFrame({"label": ["a", "b", "c"][:rows], "count": [3, 1, 0][:rows]})
    dataset.save(table)
    assert dataset.preview(nrows=2) == table.head(2).to_dict(orient="split")


FACTORS = sparse.csr_array(np.array([[1, 0, 2], [0, 3, 0]], dtype=np.float32))
WORDS = sparse.csr_array(np.array([[1, 0], [0, 2], [0.5, 0]], dtype=np.float32))
ROWS = np.array([4, 9])
BY_WORDS = SoftLabels(FACTORS, WORDS, rows=ROWS)


@pytest.mark.parametrize(
    "soft",
    [
        BY_WORDS,
        SoftLabels(FACTORS, softmax=False, floor=0.25, rows=ROWS),
        SoftLabels(FACTORS.toarray(), rows=ROWS),
        SoftLabels(FACTORS, WORDS),
        mix_soft_targets(np.eye(2), eps=0.3, distribution=BY_WORDS),
    ],
    ids=["product", "sparse", "dense", "counted", "mixed"],
)
def test_soft_labels_come_back_the_same(tmp_path, soft):
    dataset = SoftLabelsDataset(filepath=str(tmp_path / "soft.safetensors"), version=NEWEST)
    dataset.save(soft)
    back = dataset.load()
    rows = ROWS if soft.rows is not None else np.array([0, 1])
    assert np.array_equal(back(rows), soft(rows))
    assert back(rows).dtype == np.float32
    assert len(back) == 2
