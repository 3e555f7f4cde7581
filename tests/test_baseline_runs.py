"""Baselines by commands: rows of the report, runs of MLflow, models for new texts."""

import json
import re

import pandas as pd
import pytest
from conftest import make_small_project, newest, read_json, runner_in
from mlflow.tracking import MlflowClient
from safetensors.numpy import load_file

from losslab.baselines import BASELINES
from losslab.features.tfidf import weigh_words

pytestmark = pytest.mark.slow
REPORTS = "data/08_reporting/cwe/probe"
COMMAND = ("run", "--env=test", "--losses=bce", "--baselines=svm,most_frequent,chain")
LEFT_OUT = "--params=chain_baseline.max_labels=2"


@pytest.fixture(scope="module")
def finished(tmp_path_factory, mlflow_store):
    """A project after a run with baselines, the command's output, and that of the same again."""
    project = make_small_project(tmp_path_factory.mktemp("baselines") / "project", mlflow_store)
    done, again = (runner_in(project)(*COMMAND, LEFT_OUT) for _ in range(2))
    assert done.returncode == 0, done.stderr
    assert again.returncode == 0, again.stderr
    return project, done, again


def test_baselines_are_rows_of_the_table_the_comparison_and_the_page(finished):
    project, done, _ = finished
    rows = re.findall(r"^\| (\w+)(?: \*)? +\| \d\.\d{3}", done.stdout, flags=re.MULTILINE)
    assert sorted(rows) == ["bce", "most_frequent", "svm"]
    table = pd.read_csv(newest(project / REPORTS / "comparison.csv")).set_index("loss")
    assert set(table.index) == {"bce", "most_frequent", "svm"}
    assert table.loc["svm", "macro_f1"] > table.loc["most_frequent", "macro_f1"]
    assert table["best_epoch"].isna().to_dict() == {
        "bce": False,
        "svm": True,
        "most_frequent": True,
    }
    page = newest(project / REPORTS / "report.html").read_text()
    assert '<tr data-loss="svm" data-family="baselines"' in page
    assert "Baselines: svm, most_frequent" in page
    assert "one result each, without seeds" in page
    assert "--pipelines=svm_baseline" in page


def test_baselines_are_tested_against_the_reference(finished):
    told = read_json(finished[0] / REPORTS / "uncertainty.json")
    assert set(told["losses"]) == {"bce", "svm", "most_frequent"}
    marked = read_json(finished[0] / REPORTS / "bce_loss/metrics.json")["training"]["mark"]
    assert (told["losses"]["svm"]["macro_f1"]["p_holm"] is None) == (marked is not None)
    assert told["losses"]["svm"]["macro_f1"]["low"] is not None


def test_baseline_of_too_many_labels_is_left_out_with_a_line_and_no_error(finished):
    _, done, _ = finished
    assert re.search(r"INFO +chain_baseline is left out: 6 labels, .*max_labels is 2", done.stderr)
    assert "ERROR" not in done.stderr
    assert "failed" not in done.stdout + done.stderr


def test_second_run_finds_baselines_and_report_current(finished):
    project, _, again = finished
    assert "svm_baseline: current" in again.stderr
    assert len(list((project / "data/06_models/cwe/svm_baseline/model.safetensors").iterdir())) == 1
    assert len(list((project / REPORTS / "report.html").iterdir())) == 1


def test_mlflow_has_a_finished_run_of_every_baseline_that_was_fitted(finished):
    client = MlflowClient(f"sqlite:///{finished[0]}/mlflow.db")
    experiment = client.get_experiment_by_name("losslab")
    runs = [
        run for run in client.search_runs([experiment.experiment_id]) if "loss" in run.data.tags
    ]
    assert {run.data.tags["loss"] for run in runs} == {"bce", "svm", "most_frequent"}
    assert {run.info.status for run in runs} == {"FINISHED"}
    (svm, *_) = [run for run in runs if run.data.tags["loss"] == "svm"]
    assert svm.info.run_name.startswith("svm_baseline")
    assert svm.data.tags["training"].startswith("deterministic; c = ")
    saved = read_json(finished[0] / REPORTS / "svm_baseline/metrics.json")
    assert svm.data.metrics["test/macro_f1"] == pytest.approx(saved["mean"]["macro_f1"])


def test_saved_model_scores_new_texts_as_it_scored_the_corpus(finished):
    project = finished[0]
    vocabulary = json.loads(
        newest(project / "data/04_feature/cwe/tfidf_vocabulary.json").read_text()
    )
    model = load_file(newest(project / "data/06_models/cwe/svm_baseline/model.safetensors"))
    splits = pd.read_parquet(newest(project / "data/03_primary/cwe/splits.parquet"))
    texts = splits.loc[splits["split"] == "test", "text"].tolist()
    scores = BASELINES["svm"].scores(model, weigh_words(texts, vocabulary))
    folder = project / "data/07_model_output/cwe/probe/svm_baseline/scores.safetensors"
    assert scores == pytest.approx(load_file(newest(folder))["test"][0], abs=1e-6)


def test_baseline_by_itself_needs_no_encoder(kedro, project):
    done = kedro("run", "--env=test", "--pipelines=svm_baseline", "--params=svm_baseline.c=1")
    assert done.returncode == 0, done.stderr
    assert (project / REPORTS / "svm_baseline/latest/metrics.json").is_file()
    assert not (project / "data/04_feature/cwe/probe").exists()


def test_unknown_baseline_is_told_before_anything_runs(invoke):
    done = invoke("run", "--env=test", "--baselines=svn")
    assert done.exit_code == 1
    assert "unknown baseline 'svn'; did you mean 'svm'?" in done.output
