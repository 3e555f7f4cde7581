"""The data stage on made-up files: nodes, and commands that run them."""

import json
from pathlib import Path

import pandas as pd
import pytest
from conftest import newest, read_json, write_small_corpus

from losslab.errors import CorpusError
from losslab.parameters import SplitSettings
from losslab.pipelines.data import nodes

SPLIT = SplitSettings(
    by="hash", validation=0.25, test=0.25, group_separator=None, folds=None, fold=1, seed=0
)
NOTES = {"sample": False, "notes": {}, "documents": 8, "rejected": {}, "excluded": {}}


@pytest.fixture
def documents():
    return pd.DataFrame(
        {
            "id": list("abcdefgh"),
            "text": [f"text {number}" for number in range(8)],
            "labels": [["x"], ["x", "y"], ["y"], ["x"], ["z"], ["x"], ["y"], ["x"]],
            "split": [None] * 8,
        }
    )


def split(documents, settings=SPLIT, min_label_frequency=1):
    return nodes.split_documents(documents, NOTES, 0.01, min_label_frequency, settings, None)


def test_documents_are_split_and_encoded(documents):
    splits, notes = split(documents)
    assert set(splits["split"]) == {"train", "validation", "test"}
    assert notes == {
        "split_anew": False,
        "dropped_labels": {},
        "documents_undersampled": 0,
        "fold": None,
    }
    labels, matrix = nodes.encode_label_sets(splits, "multi")
    assert labels == ["x", "y", "z"]
    assert matrix.sum(axis=0).tolist() == [5, 3, 1]


def test_rare_labels_are_dropped_and_counted(documents):
    splits, notes = split(documents, min_label_frequency=2)
    assert len(notes["dropped_labels"]) == 1
    assert nodes.encode_label_sets(splits, "multi")[0] == ["x", "y"]


def test_fold_is_noted(documents):
    _, notes = split(documents, SPLIT.model_copy(update={"folds": 2, "fold": 2}))
    assert notes["fold"] == "2 of 2"


def test_single_label_task_refuses_several_labels(documents):
    with pytest.raises(CorpusError, match="1 have several labels"):
        nodes.encode_label_sets(split(documents)[0], "single")


def test_fingerprint_changes_with_splits_and_labels(documents):
    splits, _ = split(documents)
    labels, matrix = nodes.encode_label_sets(splits, "multi")
    first = nodes.fingerprint_corpus(splits, matrix, labels)
    moved = splits.assign(split=splits["split"].to_numpy()[::-1])
    assert first == nodes.fingerprint_corpus(splits, matrix, labels)
    assert first != nodes.fingerprint_corpus(moved, matrix, labels)
    assert first != nodes.fingerprint_corpus(splits, matrix, ["x", "y", "q"])


def run_data(invoke, *words):
    return invoke("run", "--pipelines=data", "--to-outputs=label_matrix", *words)


@pytest.mark.slow
def test_too_many_broken_rows_stop_the_run_and_are_kept(project, invoke):
    file = project / "data/01_raw/cwe/2000.csv"
    file.write_text(file.read_text() + "98,Torn\n99,Torn as well\n", encoding="utf-8")
    done = run_data(invoke)
    assert done.exit_code == 1
    assert "2 of 62 rows were rejected (3.2%)" in done.stderr
    assert "expected … fields, found … (2)" in done.stderr
    kept = project / "data/02_intermediate/cwe/rejected_rows.csv"
    listed = Path("data/02_intermediate/cwe/latest/rejected_rows.csv")
    assert f"raise max_rejected; rejected rows: {listed}\n" in done.stderr
    assert (project / listed).read_bytes() == newest(kept).read_bytes()
    assert pd.read_csv(newest(kept))["line"].tolist() == [62, 63]
    notes = read_json(project / "data/02_intermediate/cwe/corpus_notes.json")
    assert notes["rejected"] == {"expected … fields, found …": 2}


@pytest.mark.slow
def test_rows_are_kept_where_not_one_can_be_read(project, invoke):
    file = project / "data/01_raw/cwe/2000.csv"
    header = file.read_text().splitlines()[0]
    file.write_text(f"{header}\n98,Torn\n", encoding="utf-8")
    done = run_data(invoke)
    assert done.exit_code == 1
    assert "1 of 1 rows were rejected (100.0%)" in done.stderr
    kept = project / "data/02_intermediate/cwe/rejected_rows.csv"
    assert len(pd.read_csv(newest(kept))) == 1


@pytest.mark.slow
def test_dataset_of_any_name_is_read_by_the_reader_named(project, invoke):
    (project / "conf/datasets/mine.yml").write_text("reader: cwe\nmin_label_frequency: 31\n")
    done = run_data(invoke, "--dataset=mine")
    assert done.exit_code == 0, done.output
    folder = project / "data/03_primary/mine"
    assert len(pd.read_parquet(newest(folder / "splits.parquet"))) == 60
    assert (folder / "label_matrix.npz").is_dir()
    assert read_json(folder / "split_notes.json")["dropped_labels"]


@pytest.mark.slow
def test_single_task_is_refused_where_documents_have_several_labels(invoke):
    done = run_data(invoke, "--params=task=single")
    assert done.exit_code == 1
    assert "task is single, but of 60 documents 60 have several labels" in done.stderr


@pytest.mark.slow
def test_corpus_is_described_after_it_was_undersampled(project, invoke):
    label = "Scope: Integrity"
    undersample = f"undersample.labels=['{label}'],undersample.size=3"
    done = invoke(
        "run",
        "--pipelines=supervision",
        "--to-outputs=corpus_table",
        f"--params={undersample},split.by=hash",
    )
    assert done.exit_code == 0, done.output
    (folder,) = (project / "data/03_primary").iterdir()
    assert folder.name != "cwe"
    documents = pd.read_parquet(newest(folder / "splits.parquet"))
    train = documents[documents["split"] == "train"]["labels"]
    assert sum(label in labels for labels in train) == 3
    summary = json.loads(newest(folder / "corpus_summary.json").read_text())
    assert summary["documents_undersampled"] == 60 - len(documents) > 0
    table = pd.read_csv(newest(folder / "corpus_table.csv"))
    assert table["instances"].tolist()[0] == len(documents)


@pytest.mark.parametrize("sample", [True, False])
def test_sample_of_a_corpus_is_noted_and_described_as_such(tmp_path, documents, sample):
    write_small_corpus(tmp_path / "cwe")
    (tmp_path / "cwe.origin.json").write_text(json.dumps({"sample": sample}))
    _, corpus_notes, _ = nodes.parse_corpus(tmp_path / "cwe", "cwe", None, {})
    assert corpus_notes["sample"] == sample
    splits, split_notes = split(documents)
    _, matrix = nodes.encode_label_sets(splits, "multi")
    _, summary = nodes.describe_corpus(splits, matrix, corpus_notes, split_notes, [1])
    assert summary["sample"] == sample
