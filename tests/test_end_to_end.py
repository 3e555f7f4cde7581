"""Whole commands as a user types them, on the built-in corpus with the tests' short settings."""

import json
import re
from pathlib import Path

import mlflow
import pandas as pd
import pytest
from conftest import make_project, runner_in
from mlflow.tracking import MlflowClient
from safetensors.numpy import load

from losslab.parameters import fitting
from losslab.pipelines.reporting.nodes import CORPUS_FIGURES
from losslab.pipelines.reporting.pipeline import RESULT_FIGURES

LOSSES = fitting("multi")


def newest(folder: Path) -> Path:
    """The newest version of a dataset."""
    return max(folder.iterdir()) / folder.name


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory):
    """A project after `kedro run` with two seeds, and what the command printed."""
    project = make_project(tmp_path_factory.mktemp("finished"))
    done = runner_in(project)("run", "--env=test", "--params=seeds=2")
    assert done.returncode == 0, done.stderr
    return project, done


@pytest.fixture(scope="module")
def client(finished) -> MlflowClient:
    return MlflowClient(f"sqlite:///{finished[0]}/mlflow.db")


@pytest.fixture(scope="module")
def runs(client: MlflowClient) -> list[mlflow.entities.Run]:
    experiment = client.get_experiment_by_name("losslab")
    return client.search_runs([experiment.experiment_id])


def test_default_run_prints_a_table_with_every_loss_and_where_to_look(finished):
    _, done = finished
    rows = re.findall(r"^\| (\w+) +\| \d\.\d{3} ± \d\.\d{3}", done.stdout, flags=re.MULTILINE)
    assert sorted(rows) == sorted(LOSSES)
    for hint in ("latest.html", "kedro mlflow ui", "kedro viz"):
        assert hint in done.stdout


def test_report_is_versioned_self_contained_and_copied_to_latest(finished):
    folder = finished[0] / "data/08_reporting/cwe/probe"
    page = newest(folder / "report.html").read_text()
    assert (folder / "latest.html").read_text() == page
    assert not re.search(r"<(script|link)[^>]+(src|href)=", page)
    for part in (*RESULT_FIGURES, *CORPUS_FIGURES):
        assert f'id="{part}"' in page


def test_metrics_carry_a_seed_axis_with_mean_and_spread(finished):
    metrics = json.loads(
        newest(finished[0] / "data/08_reporting/cwe/probe/db_loss/metrics.json").read_text()
    )
    one, two = (metrics["seeds"][seed]["macro_f1"] for seed in ("1", "2"))
    assert metrics["mean"]["macro_f1"] == pytest.approx((one + two) / 2)
    assert metrics["std"]["macro_f1"] == pytest.approx(abs(one - two) / 2**0.5)
    assert {"tail/macro_f1", "head/micro_f1", "ranking_loss"} <= set(metrics["mean"])


def test_comparison_table_has_a_row_per_loss_best_macro_f1_first(finished):
    table = pd.read_csv(newest(finished[0] / "data/08_reporting/cwe/probe/comparison.csv"))
    assert sorted(table["loss"]) == sorted(LOSSES)
    assert table["macro_f1"].is_monotonic_decreasing


def test_every_loss_has_intervals_errors_and_a_difference_to_the_reference(finished):
    folder = finished[0] / "data/08_reporting/cwe/probe"
    told = json.loads(newest(folder / "uncertainty.json").read_text())
    assert set(told["losses"]) == set(LOSSES)
    for loss, metrics in told["losses"].items():
        mean = json.loads(newest(folder / f"{loss}_loss/metrics.json").read_text())["mean"]
        assert metrics["micro_f1"]["value"] == mean["micro_f1"]
        assert metrics["micro_f1"]["low"] < mean["micro_f1"] < metrics["micro_f1"]["high"]
        assert (metrics["micro_f1"]["p_holm"] is None) == (loss == told["reference"])
        errors = json.loads(newest(folder / f"{loss}_loss/errors.json").read_text())
        assert len(errors["by_frequency_decile"]) == 10


def test_mlflow_has_a_parent_and_a_child_per_loss_and_seed_all_finished(runs):
    parents = [run for run in runs if "mlflow.parentRunId" not in run.data.tags]
    children = [run for run in runs if "mlflow.parentRunId" in run.data.tags]
    assert len(parents) == 1
    assert {run.data.tags["mlflow.parentRunId"] for run in children} == {parents[0].info.run_id}
    assert {run.info.run_name for run in children} == {
        f"{loss}_loss seed {seed} (cwe, probe)" for loss in LOSSES for seed in (1, 2)
    }
    assert {run.info.status for run in runs} == {"FINISHED"}


def test_child_run_is_tagged_and_carries_flat_parameters(runs):
    child = next(run for run in runs if run.info.run_name == "db_loss seed 2 (cwe, probe)")
    tags = child.data.tags
    assert (tags["loss"], tags["dataset"], tags["recipe"], tags["seed"]) == (
        "db",
        "cwe",
        "probe",
        "2",
    )
    assert {"git_commit", "git_dirty", "command"} <= set(tags)
    assert "--env=test" in tags["command"]
    assert child.data.params["loss_options.gamma"] == "2.0"
    assert child.data.params["recipe.training.epochs"] == "4"
    assert 0 < float(child.data.params["label_statistics.mu"]) < 1


def test_child_run_mirrors_the_metrics_file_and_the_training_curve(finished, client, runs):
    child = next(run for run in runs if run.info.run_name == "focal_loss seed 1 (cwe, probe)")
    file = newest(finished[0] / "data/08_reporting/cwe/probe/focal_loss/metrics.json")
    truth = json.loads(file.read_text())["seeds"]["1"]
    assert child.data.metrics["test/macro_f1"] == truth["macro_f1"]
    low, high = (child.data.metrics[f"test/macro_f1_{end}"] for end in ("low", "high"))
    assert low < high
    assert {"test/rules/per_label/macro_f1", "validation/rules/top_k/micro_f1"} <= set(
        child.data.metrics
    )
    history = pd.read_parquet(
        newest(finished[0] / "data/06_models/cwe/probe/focal_loss/history.parquet")
    )
    curve = client.get_metric_history(child.info.run_id, "validation/macro_f1")
    expected = history[history["seed"] == 1]["validation_macro_f1"].tolist()
    assert [point.value for point in sorted(curve, key=lambda point: point.step)] == expected


def test_runs_keep_decision_rules_and_the_report(client, runs):
    child = next(run for run in runs if run.info.run_name == "bce_loss seed 1 (cwe, probe)")
    parent = child.data.tags["mlflow.parentRunId"]
    own = [file.path for file in client.list_artifacts(child.info.run_id)]
    assert own == ["decision_rules.json"]
    kept = {file.path for file in client.list_artifacts(parent)}
    assert kept == {"comparison.csv", "corpus_table.csv", "report.html", "uncertainty.json"}


def test_report_refuses_results_that_differ_in_more_than_the_loss_or_marks_them(finished):
    kedro = runner_in(finished[0])
    done = kedro("run", "--env=test", "--pipelines=db_loss", "--params=seeds=1")
    assert done.returncode == 0, done.stderr
    done = kedro("run", "--env=test", "--pipelines=report")
    assert done.returncode != 0
    assert "db: seeds is ['1'], expected ['1', '2']" in " ".join(done.stderr.split())
    done = kedro("run", "--env=test", "--pipelines=report", "--params=report.mixtures=mark")
    assert done.returncode == 0, done.stderr
    folder = finished[0] / "data/08_reporting/cwe/probe"
    marked = pd.read_csv(newest(folder / "comparison.csv")).set_index("loss")["differs"].dropna()
    assert list(marked.index) == ["db"]
    told = json.loads(newest(folder / "uncertainty.json").read_text())["losses"]
    assert told["db"]["macro_f1"]["p"] is None
    assert told["focal"]["macro_f1"]["p"] is not None


@pytest.mark.parametrize("flag", ["--pipeline", "--pipelines"])
def test_one_loss_runs_by_itself_and_leaves_the_others_alone(project, kedro, flag):
    done = kedro("run", "--env=test", f"{flag}=db_loss")
    assert done.returncode == 0, done.stderr
    assert "| db " in done.stdout
    assert [f.name for f in (project / "data/06_models/cwe/probe").iterdir()] == ["db_loss"]


def test_same_seed_gives_the_same_files_and_another_seed_another_model(project, kedro):
    for seed in (1, 1, 2):
        done = kedro("run", "--env=test", "--pipelines=db_loss", f"--params=seed={seed}")
        assert done.returncode == 0, done.stderr

    def read(file):
        versions = sorted((project / "data" / file).iterdir())
        return [(version / Path(file).name).read_bytes() for version in versions]

    first, second, _ = read("08_reporting/cwe/probe/db_loss/metrics.json")
    assert first == second
    first, second, other = (
        load(model)[f"seed_{seed}/model.layers.1.weight"]
        for seed, model in zip(
            (1, 1, 2), read("06_models/cwe/probe/db_loss/model.safetensors"), strict=True
        )
    )
    assert (first == second).all()
    assert (first != other).any()


def test_unreachable_tracking_server_costs_a_warning_not_the_run(project, kedro):
    done = kedro(
        "run", "--env=test", "--pipelines=bce_loss", MLFLOW_TRACKING_URI="http://127.0.0.1:9"
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("WARNING") == 1
    assert "tracking is off for the rest of this run" in done.stderr
    assert "not tracked" in done.stdout
    assert (project / "data/08_reporting/cwe/probe/bce_loss/metrics.json").is_dir()


def test_viz_build_finds_every_parameter_and_each_loss_as_a_namespace(project, kedro):
    done = kedro("viz", "build")
    assert done.returncode == 0, done.stderr
    assert "Cannot find parameter" not in done.stdout + done.stderr
    graph = json.loads((project / "build/api/main").read_text())
    modular = {node["name"] for node in graph["nodes"] if node["type"] == "modularPipeline"}
    assert {f"{loss}_loss" for loss in LOSSES} <= modular
