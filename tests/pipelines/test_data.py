"""The commands that read a corpus, on made-up files."""

import json

import pandas as pd


def newest(path):
    return max(path.iterdir()) / path.name


def prepare(kedro, *words):
    return kedro("run", "--pipelines=prepare", "--to-outputs=targets", *words)


def test_too_many_broken_rows_stop_the_run_and_are_kept(project, kedro):
    file = project / "data/01_raw/cwe/2000.csv"
    file.write_text(file.read_text() + "98,Torn\n99,Torn as well\n", encoding="utf-8")
    done = prepare(kedro)
    assert done.returncode == 1
    assert "2 of 62 rows were rejected (3.2%)" in done.stderr
    assert "expected … fields, found … (2)" in done.stderr
    assert "Traceback" not in done.stderr
    kept = project / "data/02_intermediate/cwe/rejected.csv"
    assert kept.relative_to(project).as_posix() in done.stderr
    assert pd.read_csv(newest(kept))["line"].tolist() == [62, 63]
    notes = json.loads(newest(project / "data/02_intermediate/cwe/corpus_notes.json").read_text())
    assert notes["rejected"] == {"expected … fields, found …": 2}


def test_rows_are_kept_where_not_one_can_be_read(project, kedro):
    file = project / "data/01_raw/cwe/2000.csv"
    header = file.read_text().splitlines()[0]
    file.write_text(f"{header}\n98,Torn\n", encoding="utf-8")
    done = prepare(kedro)
    assert done.returncode == 1
    assert "expected at least one document, found none" in done.stderr
    assert len(pd.read_csv(newest(project / "data/02_intermediate/cwe/rejected.csv"))) == 1


def test_dataset_of_any_name_is_read_by_the_reader_named(project, kedro):
    (project / "data/01_raw/cwe").rename(project / "data/01_raw/mine")
    done = prepare(kedro, "--params=dataset=mine,reader=cwe,min_label_frequency=20")
    assert done.returncode == 0, done.stderr
    assert len(pd.read_parquet(newest(project / "data/03_primary/mine/documents.parquet"))) == 60
    assert (project / "data/03_primary/mine/targets.npz").is_dir()


def test_single_task_is_refused_where_documents_have_several_labels(kedro):
    done = prepare(kedro, "--params=task=single")
    assert done.returncode == 1
    assert "task is single, but of 60 documents 60 have several labels" in done.stderr


def test_corpus_is_described_after_its_labels_were_thinned_out(project, kedro):
    label = "Scope: Integrity"
    done = kedro(
        "run",
        "--pipelines=targets",
        "--to-outputs=corpus_table",
        f"--params=unbalance.labels=['{label}'],unbalance.size=3,split.by=hash",
    )
    assert done.returncode == 0, done.stderr
    folder = project / "data/03_primary/cwe"
    documents = pd.read_parquet(newest(folder / "documents.parquet"))
    train = documents[documents["split"] == "train"]["labels"]
    assert sum(label in labels for labels in train) == 3
    summary = json.loads(newest(folder / "corpus_summary.json").read_text())
    assert summary["documents_undersampled"] == 60 - len(documents) > 0
    table = pd.read_csv(newest(folder / "corpus_table.csv"))
    assert table["instances"].tolist()[0] == len(documents)
