"""losslab.compare: data as people have them in a notebook, and a project of its own."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT

import losslab
from losslab.data.readers.own import Layout, read_own
from losslab.errors import LosslabError
from losslab.notebook import _nested, _save, create_project

LAYOUT = Layout("text", "labels", "auto", None, None)
SHORT = {
    "recipes.probe.model": {"max_length": 16, "hidden_dim": 32},
    "recipes.probe.training.epochs": 2,
    "report.resamples": 100,
}
TOPICS = ["printer", "network", "login"]


def make_frame(rows=24):
    labels = [[name for bit, name in enumerate(TOPICS) if n >> bit & 1] for n in range(rows)]
    texts = [f"The {' and the '.join(names)} of desk {n}." for n, names in enumerate(labels)]
    return pd.DataFrame({"text": texts, "labels": labels, "number": range(rows)})


def saved(data, folder, layout=LAYOUT, **columns):
    """The documents of a table that was saved and read."""
    name = _save(data, layout, folder / "frame.parquet")
    return read_own(folder, file=name, **columns).documents


class Feature:
    def __init__(self, names):
        self.names = names


class HubDataset:
    """What Hugging Face's datasets have that is used here."""

    def __init__(self, frame, features):
        self.frame, self.features = frame, features

    def to_pandas(self):
        return self.frame.copy()


def hub_dataset(labels=(0, 2, -1)):
    frame = pd.DataFrame({"text": ["one", "two", "three"], "labels": list(labels)})
    return HubDataset(frame, {"text": object(), "labels": Feature(["a", "b", "c"])})


@pytest.mark.parametrize(
    "form", [list, tuple, set, frozenset, np.array], ids=lambda each: str(each)
)
def test_labels_of_a_frame_may_be_any_collection(tmp_path, form):
    frame = make_frame()
    documents = saved(frame.assign(labels=[form(names) for names in frame["labels"]]), tmp_path)
    assert [set(names) for names in documents["labels"]] == [
        set(names) for names in frame["labels"]
    ]
    assert documents["text"].tolist() == frame["text"].tolist()


def test_numbers_with_gaps_are_labels(tmp_path):
    frame = pd.DataFrame({"text": ["one", "two"], "labels": [3.0, np.nan]}, index=[7, 7])
    assert saved(frame, tmp_path)["labels"].tolist() == [["3"], []]


def test_one_hot_columns_of_a_frame(tmp_path):
    frame = pd.DataFrame({"text": ["one", "two"], "x": [True, False], "y": [0, 1], "z": [5, 6]})
    layout = LAYOUT._replace(labels="*")
    assert saved(frame, tmp_path, layout, labels="*")["labels"].tolist() == [["x"], ["y"]]


def test_classes_of_a_hugging_face_dataset_have_their_names(tmp_path):
    assert saved(hub_dataset(), tmp_path)["labels"].tolist() == [["a"], ["c"], []]


def test_splits_of_hugging_face_datasets_are_kept(tmp_path):
    data = {"train": hub_dataset(), "test": hub_dataset((1, 1, 1))}
    layout = LAYOUT._replace(split="split")
    documents = saved(data, tmp_path, layout, split="split")
    assert documents["split"].tolist() == ["train"] * 3 + ["test"] * 3
    assert documents["labels"].tolist() == [["a"], ["c"], [], ["b"], ["b"], ["b"]]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (make_frame().drop(columns="labels"), "one column 'labels': the columns are text, number"),
        ([["one", "a"]], "expected a DataFrame, a dataset or a path, got list"),
        (pd.DataFrame({"text": ["one", "two"], "labels": [["a"], "b"]}), "cannot be saved"),
    ],
)
def test_data_that_cannot_be_used_are_told(tmp_path, data, message):
    with pytest.raises(LosslabError, match=message):
        losslab.compare(data, folder=tmp_path / "runs", quiet=True)


@pytest.mark.parametrize("name", ["own", "reuters", "a/b", ""])
def test_name_of_a_dataset_is_no_other_ones(tmp_path, name):
    with pytest.raises(LosslabError, match="name: "):
        losslab.compare(make_frame(), name=name, folder=tmp_path / "runs", quiet=True)


def test_parameters_may_be_dotted():
    assert _nested({"split.test": 0.2, "split": {"seed": 3}}) == {"split": {"test": 0.2, "seed": 3}}


def test_project_has_the_configuration_of_the_package_and_the_users_own(tmp_path):
    project = create_project(tmp_path / "runs")
    (project / "conf/local/parameters.yml").write_text("seed: 7\n")
    (project / "conf/datasets/mine.yml").write_text("reader: own\n")
    (project / "conf/base/parameters.yml").write_text("old: true\n")
    assert create_project(tmp_path / "runs") == project
    for file in (ROOT / "conf/base").glob("*.yml"):
        assert (project / "conf/base" / file.name).read_bytes() == file.read_bytes()
    assert (project / "conf/local/parameters.yml").read_text() == "seed: 7\n"
    assert (project / "conf/datasets/mine.yml").exists()


def test_folder_of_another_project_is_left_alone(tmp_path):
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "other"\n')
    with pytest.raises(LosslabError, match="holds another project"):
        create_project(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["pyproject.toml"]


@pytest.mark.long
def test_losses_are_compared_on_a_frame(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    options = {"losses": ["bce"], "baselines": [], "seeds": 1, "params": SHORT}
    done = losslab.compare(make_frame(), folder=tmp_path / "runs", **options)
    printed = capsys.readouterr().out
    assert "frame: 24 documents, 3 labels, 1.5 per document, rarest: login (12)" in printed.replace(
        " and 2 more", ""
    )
    assert done.table.index.tolist() == ["bce"]
    assert 0 <= done.table.loc["bce", "macro-F1"] == done.details["macro_f1"][0] <= 1
    assert done.report.is_relative_to(tmp_path / "runs/data/08_reporting/frame")
    assert done.report.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert str(done.report) in repr(done)
    assert "<td>" in done._repr_html_()
    assert done.command == "kedro run --dataset=frame --losses=bce --baselines=none --seeds=1"
    with pytest.raises(LosslabError, match="did you mean 'bce'"):
        losslab.compare(
            make_frame(), folder=tmp_path / "runs", **{**options, "losses": ["bec"]}, quiet=True
        )


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """The files of a wheel, as an installation has them."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    unwanted = shutil.ignore_patterns("*.egg-info", "__pycache__", "local")
    for name in ("src", "conf"):
        shutil.copytree(ROOT / name, source / name, ignore=unwanted)
    offline = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    build = [sys.executable, "-m", "pip", "wheel", *offline, "--wheel-dir", source, source]
    subprocess.run(build, check=True)
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(next(source.glob("losslab-*.whl"))) as wheel:
        wheel.extractall(folder)
    return folder


def run_installed(installed, folder, script):
    """What a script prints last, where the wheel is imported and no checkout is near."""
    finished = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(installed), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.splitlines()[-1]


@pytest.mark.slow
def test_wheel_has_the_configuration(installed, tmp_path):
    script = (
        "import losslab.notebook as n; n.create_project(n.Path('runs'));print(n.INSTALLED.is_dir())"
    )
    assert run_installed(installed, tmp_path, script) == "True"
    files = [path.relative_to(ROOT / "conf") for path in (ROOT / "conf/base").glob("*.yml")]
    for file in files:
        assert (tmp_path / "runs/conf" / file).read_bytes() == (ROOT / "conf" / file).read_bytes()
    assert not (installed / "losslab/conf/local").exists()


@pytest.mark.long
def test_wheel_compares_losses(installed, tmp_path):
    make_frame().to_pickle(tmp_path / "frame.pkl")
    script = f"""
import losslab, pandas
frame = pandas.read_pickle("frame.pkl")
options = dict(losses=["bce"], baselines=[], seeds=1, params={SHORT!r}, quiet=True)
print(losslab.__file__, losslab.compare(frame, **options).table.index.tolist())
"""
    assert run_installed(installed, tmp_path, script) == f"{installed}/losslab/__init__.py ['bce']"
