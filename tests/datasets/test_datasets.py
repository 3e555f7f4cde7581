import json
import os
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from kedro.io import DatasetError, Version
from plotly import graph_objects as go
from safetensors.numpy import save_file
from scipy import sparse

from losslab import datasets
from losslab.datasets import (
    CheckpointsDataset,
    CSVDataset,
    FigureDataset,
    JSONDataset,
    MappedTensorsDataset,
    PageDataset,
    ParquetDataset,
    PredictedLabelsDataset,
    PredictionsDataset,
    RawFolderDataset,
    SoftLabelsDataset,
    SparseMatrixDataset,
    TensorsDataset,
    TextDataset,
)
from losslab.datasets.checked import Checked, system_errors
from losslab.errors import Failure
from losslab.evaluation import Predictions
from losslab.manifest import BrokenFileError, Lineage, Manifest, Provenance, hash_file
from losslab.supervision import SoftLabels, mix_soft_targets
from losslab.training.checkpoint import Checkpoints

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


def same_soft_labels(left, right):
    rows = np.array([4, 9])
    assert np.array_equal(left(rows), right(rows))


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
    "mapped": (
        lambda path: MappedTensorsDataset(filepath=path, version=NEWEST),
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
    "soft_labels": (
        lambda path: SoftLabelsDataset(filepath=path, version=NEWEST),
        SoftLabels(MATRIX[:2].astype(np.float32), rows=np.array([4, 9])),
        same_soft_labels,
    ),
    "text": (lambda path: TextDataset(filepath=path, version=NEWEST), "é\n", None),
    "page": (lambda path: PageDataset(filepath=path, version=NEWEST), "<p>é</p>", None),
}


def test_every_kind_of_checked_dataset_is_a_case():
    kinds = {each for each in vars(datasets).values() if isinstance(each, type)}
    made = {type(make("file")) for make, _, _ in CASES.values()}
    streamed = {PredictedLabelsDataset}  # written while they are made: tests/inference
    assert made | streamed == {each for each in kinds if issubclass(each, Checked)}


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
    assert sorted(file.name for file in files) == sorted([path.name, "manifest.json"])
    assert {file.parent.parent for file in files} == {path}


def die(*_):
    raise KeyboardInterrupt


def test_a_save_that_dies_half_way_is_never_read(case, monkeypatch):
    dataset, data, _, path = case
    monkeypatch.setattr(Path, "replace", die)
    with pytest.raises(KeyboardInterrupt):
        dataset.save(data)
    left = [file.name for file in path.rglob("*") if file.is_file()]
    assert left == [f".{path.name}.{os.getpid()}.part"]
    assert not dataset.exists()


def test_a_save_that_fails_leaves_nothing(tmp_path):
    dataset = JSONDataset(filepath=(tmp_path / "a.json").as_posix(), version=NEWEST)
    with pytest.raises(DatasetError):
        dataset.save({"a": object()})
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def break_by_truncation(file):
    file.write_bytes(file.read_bytes()[:-1])


def break_by_a_flipped_byte(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def break_by_removing_the_manifest(file):
    file.with_name("manifest.json").unlink()


def break_by_emptying_the_manifest(file):
    file.with_name("manifest.json").write_text("")


def break_by_removing_the_file(file):
    file.unlink()


@pytest.mark.parametrize(
    "damage",
    [
        break_by_removing_the_file,
        break_by_truncation,
        break_by_a_flipped_byte,
        break_by_removing_the_manifest,
        break_by_emptying_the_manifest,
    ],
)
def test_broken_newest_version_is_passed_over_with_a_word(case, caplog, damage):
    made, data, compare, path = case
    versions = ("2026-01-01T00.00.00.000Z", "2026-01-02T00.00.00.000Z")
    for version in versions:
        make(made, version).save(data)
    damage(path / versions[1] / path.name)
    reader = make(made, None)
    assert reader.resolve_load_version() == versions[0]
    assert str(path / versions[1]) in caplog.text
    loaded = reader.load()
    if compare:
        compare(loaded, data)
    else:
        assert loaded == data


def make(like, version):
    """A dataset like another one, with a version of its own."""
    return type(like)(filepath=str(like._filepath), version=Version(None, version), **extra(like))


def extra(dataset):
    return {"save_args": {"index": False}} if isinstance(dataset, CSVDataset) else {}


def test_broken_version_that_was_asked_for_is_refused(tmp_path):
    save_versions(tmp_path, "1")
    break_by_a_flipped_byte(tmp_path / "metrics.json/1/metrics.json")
    path = (tmp_path / "metrics.json").as_posix()
    with pytest.raises(DatasetError, match=r"metrics\.json is broken: .* sha256"):
        JSONDataset(filepath=path, version=Version("1", None)).load()


def test_dataset_keeps_to_the_version_it_saved(tmp_path):
    mine = save_versions(tmp_path, "1")
    save_versions(tmp_path, "2")
    assert mine.load() == {"version": "1"}
    mine.release()
    assert mine.load() == {"version": "1"}


def test_dataset_keeps_to_the_version_it_chose(tmp_path):
    save_versions(tmp_path, "1")
    reader = JSONDataset(filepath=(tmp_path / "metrics.json").as_posix(), version=NEWEST)
    assert reader.exists()
    save_versions(tmp_path, "2")
    assert reader.load() == {"version": "1"}


def test_adopted_version_becomes_the_newest_with_its_manifest(tmp_path):
    save_versions(tmp_path, "1", "2")
    dataset = JSONDataset(
        filepath=(tmp_path / "metrics.json").as_posix(), version=Version(None, "3")
    )
    lineage = Lineage(datasets={"splits": "a"})
    dataset.adopt("1", lineage)
    assert dataset.versions() == ["3", "2", "1"]
    assert dataset.load() == json.loads(dataset.latest.read_text()) == {"version": "1"}
    assert dataset.manifest.sha256 == dataset.verified("1").sha256
    assert dataset.manifest.provenance.lineage == lineage


def test_failure_of_the_newest_run_is_noted_until_a_version_is_saved_or_taken(tmp_path):
    dataset = save_versions(tmp_path, "1", "2")
    for mend in (lambda: dataset.adopt("2"), lambda: save_versions(tmp_path, "3")):
        dataset.mark_failed(Failure("db_loss.train", "the loss is nan"))
        assert dataset.failure == "db_loss.train failed: the loss is nan"
        assert "failed.txt" not in dataset.versions()
        mend()
        assert dataset.failure == ""


def test_failure_that_cannot_be_noted_is_a_warning(tmp_path, caplog):
    dataset = save_versions(tmp_path, "1")
    (tmp_path / "metrics.json/failed.txt").mkdir()
    dataset.mark_failed(Failure("db_loss.train", "the loss is nan"))
    assert "metrics.json: that it failed cannot be noted: Is a directory" in caplog.text


def test_error_of_the_system_that_safetensors_tells_as_text_is_one_again(tmp_path):
    """A run has to know a full disk: it ends, as every further save would fail."""
    with pytest.raises(FileNotFoundError), system_errors():
        save_file({"w": np.zeros(2)}, tmp_path / "missing" / "file")


def test_adopting_the_newest_version_writes_nothing(tmp_path):
    dataset = save_versions(tmp_path, "1", "2")
    dataset.adopt("2")
    assert dataset.versions() == ["2", "1"]


def test_manifest_holds_size_hash_and_provenance(tmp_path):
    dataset = JSONDataset(filepath=(tmp_path / "a.json").as_posix(), version=Version(None, "1"))
    dataset.provenance = Provenance(node="n", fingerprint="f", parameters={"gamma": 2.0})
    dataset.save({"a": 1})
    facts = json.loads((tmp_path / "a.json/1/manifest.json").read_text())
    content = (tmp_path / "a.json/1/a.json").read_bytes()
    assert facts["size"] == len(content)
    assert facts["sha256"] == sha256(content).hexdigest()
    assert facts["provenance"]["parameters"] == {"gamma": 2.0}
    assert dataset.manifest.provenance == dataset.provenance


def test_byte_flipped_anywhere_in_a_manifest_is_noticed_or_changes_nothing(tmp_path):
    dataset = JSONDataset(filepath=(tmp_path / "a.json").as_posix(), version=Version(None, "1"))
    lineage = Lineage({"splits": "0123abcd"}, {"training.epochs": 4})
    dataset.provenance = Provenance("n", "f", {"losslab.x": "1"}, {"gamma": 2.5}, {}, lineage)
    dataset.save({"a": 1})
    manifest, path = dataset.manifest, tmp_path / "a.json/1/manifest.json"
    content, noticed = path.read_bytes(), 0
    for position in range(len(content)):
        flipped = bytes([content[position] ^ 1])
        path.write_bytes(content[:position] + flipped + content[position + 1 :])
        try:
            dataset._verified.clear()
            assert dataset.verified("1") == manifest, position
        except BrokenFileError:
            noticed += 1
    assert noticed > len(content) / 2


def recorded_writes(monkeypatch):
    """Syncs and renames in their order, by file name; what is temporary as ``part``."""
    events, fsync, replace, rename = [], os.fsync, Path.replace, Path.rename

    def name(path):
        return "part" if Path(path).name.endswith(".part") else Path(path).name

    def sync(descriptor):
        events.append(("sync", name(Path(f"/proc/self/fd/{descriptor}").readlink())))
        fsync(descriptor)

    def move(moved):
        def moving(path, target):
            events.append(("rename", Path(target).name))
            return moved(path, target)

        return moving

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Path, "replace", move(replace))
    monkeypatch.setattr(Path, "rename", move(rename))
    return events


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_file_and_manifest_are_on_the_disk_before_and_after_they_are_renamed(tmp_path, monkeypatch):
    dataset = JSONDataset(filepath=str(tmp_path / "a.json"), version=Version(None, "1"))
    events = recorded_writes(monkeypatch)
    dataset.save({"a": 1})
    assert events[:6] == [
        ("sync", "part"),
        ("rename", "a.json"),
        ("sync", "1"),
        ("sync", "part"),
        ("rename", "manifest.json"),
        ("sync", "1"),
    ]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_checkpoint_is_on_the_disk_before_and_after_it_is_renamed(tmp_path, monkeypatch):
    checkpoints = Checkpoints(tmp_path, interval=0).of_training("db", {})
    events = recorded_writes(monkeypatch)
    assert checkpoints.save(3, 1, {"progress.json": {"step": 3}})
    moved = events.index(("rename", "step_000000003_evaluation_000001"))
    written = {("sync", name) for name in ("part", "progress.json", "manifest.json")}
    assert (set(events[:moved]), events[moved + 1 :]) == (written, [("sync", "db")])


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
    save_versions(tmp_path, "1", "3")
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
    monkeypatch.setattr(Path, "replace", die)
    with pytest.raises(KeyboardInterrupt):
        save_versions(tmp_path, "2")
    assert json.loads(dataset.latest.read_text()) == {"version": "1"}


def test_without_versions_the_file_itself_is_the_latest(tmp_path):
    dataset = JSONDataset(filepath=(tmp_path / "metrics.json").as_posix())
    dataset.save({"a": 1})
    assert json.loads(dataset.latest.read_text()) == {"a": 1}
    hidden = ".metrics.json.manifest.json"
    assert sorted(file.name for file in tmp_path.iterdir()) == [hidden, "metrics.json"]


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
    file = path / "1" / "m.npz"
    Manifest(hash_file(file), file.stat().st_size).write(file)
    dataset = SparseMatrixDataset(filepath=path.as_posix(), version=Version("1", None))
    with pytest.raises(DatasetError, match="allow_pickle"):
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


def test_checkpoints_have_a_folder_per_key(tmp_path):
    dataset = CheckpointsDataset(filepath=str(tmp_path), interval=60)
    assert dataset.load().folder == tmp_path / "default"
    dataset.key = "0123abcd"
    loaded = dataset.load()
    assert (loaded.folder, loaded.interval) == (tmp_path / "0123abcd", 60)
    assert dataset.exists()
    with pytest.raises(DatasetError, match="no node returns checkpoints"):
        dataset.save("x")


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


def test_csv_has_no_formulas_and_is_loaded_as_it_was(tmp_path):
    table = pd.DataFrame({"label": ["=1+1", "@SUM(A1)", "'=", "a"], "change": [-1, 0, 1, 2]})
    path = tmp_path / "table.csv"
    dataset = CSVDataset(filepath=str(path), save_args={"index": False})
    dataset.save(table)
    lines = path.read_text().splitlines()
    assert lines == ['"label","change"', '"\'=1+1",-1', '"\'@SUM(A1)",0', "\"''=\",1", '"a",2']
    same_tables(dataset.load(), table)
