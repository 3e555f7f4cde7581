"""Retrieval by commands: the run, its page, MLflow runs, what is refused, what failed."""

import re
import shutil

import numpy as np
import pandas as pd
import pytest
from conftest import invoker_in, make_project, newest, read_json
from mlflow.tracking import MlflowClient
from question_corpus import articles, write_corpus
from safetensors.numpy import load_file

from losslab.parameters import losses_for_task
from losslab.retrieval import rank_metrics

pytestmark = pytest.mark.slow
REPORTS = "data/08_reporting/squad/probe"
LOSSES = losses_for_task("retrieval")
METHODS = [*LOSSES, "bm25", "zero_shot"]
COMMAND = ("run", "--dataset=squad", "--env=test", "--seeds=2", "--workers=1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory, mlflow_store):
    project = make_project(tmp_path_factory.mktemp("retrieval"))
    shutil.copy(mlflow_store, project)
    content = articles()
    content[0]["paragraphs"][0]["qas"][0]["answers"][0]["answer_start"] = 0
    write_corpus(project / "data/01_raw/squad", all=content)
    return project


@pytest.fixture(scope="module")
def invoke(folder, module_patch):
    return invoker_in(folder, module_patch)


@pytest.fixture(scope="module")
def finished(folder, invoke):
    """A project after a run on made-up questions, and what the command printed."""
    done = invoke(*COMMAND, "--params=max_rejected=0.02")
    assert done.exit_code == 0, done.output
    return folder, done


def test_run_prints_every_method_and_where_to_look(finished):
    rows = re.findall(r"^\| (\w+) +\| \d\.\d{3}", finished[1].output, flags=re.MULTILINE)
    assert rows == METHODS
    assert f"{REPORTS}/latest.html" in finished[1].output


def test_metrics_are_those_of_the_saved_ranks(finished):
    for method in [f"{loss}_loss" for loss in LOSSES] + ["bm25_reference", "zero_shot_reference"]:
        file = newest(finished[0] / f"data/07_model_output/squad/probe/{method}/ranks.safetensors")
        metrics = read_json(finished[0] / REPORTS / method / "metrics.json")
        ranks = load_file(file)
        assert set(ranks) == set(metrics["seeds"]) == ({"1", "2"} if "_loss" in method else {"0"})
        for seed, values in ranks.items():
            assert metrics["seeds"][seed] == pytest.approx(rank_metrics(values, [1, 10, 50, 100]))
    table = pd.read_csv(newest(finished[0] / REPORTS / "retrieval/comparison.csv"))
    assert list(dict.fromkeys(table["method"])) == METHODS
    assert table.loc[table["method"] != "ce", "p_holm"].notna().all()


def test_rejected_question_is_named_and_counted_on_the_page(finished):
    rejected = pd.read_csv(newest(finished[0] / "data/02_intermediate/squad/rejected_rows.csv"))
    (reason,) = rejected["reason"]
    assert reason == "question 'tea-Oslo-weight': its answer is not in the passage at answer_start"
    assert "Rejected: 1 with question" in newest(finished[0] / REPORTS / "report.html").read_text()


def test_too_many_rejected_questions_stop_the_run(finished, invoke):
    done = invoke(*COMMAND, "--params=max_rejected=0.001")
    assert done.exit_code == 1
    assert "1 of 180 rows were rejected" in done.output


def test_every_training_is_a_child_run_with_its_metrics(finished):
    client = MlflowClient(f"sqlite:///{finished[0]}/mlflow.db")
    experiment = client.get_experiment_by_name("losslab")
    runs = client.search_runs([experiment.experiment_id])
    children = [run for run in runs if "loss" in run.data.tags]
    (parent,) = [
        run for run in runs if run.info.run_id == children[0].data.tags["mlflow.parentRunId"]
    ]
    named = {(run.data.tags["loss"], run.data.tags["seed"]) for run in children}
    assert named == {(loss, seed) for loss in LOSSES for seed in ("1", "2")}
    for run in children:
        assert run.info.status == "FINISHED"
        loss, seed = run.data.tags["loss"], run.data.tags["seed"]
        metrics = read_json(finished[0] / REPORTS / f"{loss}_loss/metrics.json")
        assert run.data.metrics["test/mrr"] == pytest.approx(metrics["seeds"][seed]["mrr"])
        assert "validation/mrr" in run.data.metrics
        assert run.data.params["retrieval.two_tower.negatives"] == "64"
    artifacts = {each.path for each in client.list_artifacts(parent.info.run_id)}
    assert {"report.html", "retrieval.csv"} <= artifacts


def test_what_is_current_is_not_computed_again_and_bm25_alone_if_its_constant_changes(
    finished, invoke
):
    unchanged = invoke("explain", *COMMAND[1:], "--params=max_rejected=0.02")
    assert set(re.findall(r": (\w+)", unchanged.output)) == {"current"}, unchanged.output
    changed = invoke("explain", *COMMAND[1:], "--params=max_rejected=0.02,retrieval.bm25.b=0.5")
    assert "bm25_reference: stale: parameter retrieval.bm25.b 0.75 -> 0.5" in changed.output
    assert "kwls_loss: current" in changed.output


def test_a_loss_that_fails_costs_the_others_nothing(finished, invoke):
    params = "--params=max_rejected=0.02,kwls_loss.learning_rate=1e30"
    done = invoke(*COMMAND, "--losses=ce,kwls", params)
    assert done.exit_code == 1
    rows = re.findall(r"^\| (\w+) +\| \d\.\d{3}", done.output, flags=re.MULTILINE)
    assert rows == ["ce", "bm25", "zero_shot"]
    assert "| kwls | failed: " in done.output
    assert "<b>kwls</b> failed" in newest(finished[0] / REPORTS / "report.html").read_text()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["run", "--pipelines=bce_loss"], "'bce_loss' is for documents with labels"),
        (["run", "--losses=bce"], "losses: bce does not fit retrieval"),
        (["run", "--baselines=svm"], "baselines: svm does not fit retrieval"),
        (["run", "--params=task=single"], "squad has questions and candidate answers, its task is"),
        (["run", "--params=retrieval.two_tower.negative=3"], "did you mean"),
        (["cross-validate"], "is for documents with labels"),
        (["sweep", "undersampled"], "questions"),
        (["search"], "questions"),
    ],
)
def test_what_does_not_fit_questions_is_told_in_one_line(invoke, words, told):
    done = invoke(*words, "--dataset=squad")
    assert done.exit_code == 1
    assert told in done.output
    assert "Traceback" not in done.output


def test_retrieval_on_documents_with_labels_is_refused(invoke):
    done = invoke("run", "--dataset=cwe", "--pipelines=retrieval")
    assert done.exit_code == 1
    assert "retrieval needs questions" in done.output
    assert "--dataset=squad" in done.output


def test_ranks_lie_among_the_candidates_of_the_test_split(finished):
    counts = read_json(finished[0] / "data/03_primary/squad/question_counts.json")["splits"]["test"]
    file = newest(finished[0] / "data/07_model_output/squad/probe/ce_loss/ranks.safetensors")
    for ranks in load_file(file).values():
        assert len(ranks) == counts["questions"]
        assert np.all((ranks >= 1) & (ranks <= counts["candidates"]))
