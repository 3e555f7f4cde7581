"""Whole commands as a user types them, with the tests' short settings."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
import pytest
from conftest import (
    invoker_in,
    make_project,
    make_small_project,
    newest,
    read_json,
    runner_in,
)
from mlflow.tracking import MlflowClient
from safetensors.numpy import load, load_file
from scipy import sparse
from scipy.stats import ttest_rel
from sklearn.metrics import f1_score

from losslab.config_loader import LosslabConfigLoader
from losslab.evaluation import Predictions
from losslab.parameters import LossSettings, Recipe, losses_for_task
from losslab.reporting.plots import CORPUS_PLOTS, RESULT_PLOTS
from losslab.settings import CONFIG_LOADER_ARGS
from losslab.training.job import describe_job, load_network
from losslab.training.network import text_scorer

pytestmark = pytest.mark.slow

LOSSES = losses_for_task("multi")
REPORTS = "data/08_reporting/cwe/probe"


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory):
    """A project after `kedro run` on the built-in corpus, and what the command printed."""
    project = make_project(tmp_path_factory.mktemp("finished"))
    done = runner_in(project)("run", "--env=test", "--seeds=2")
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
    rows = re.findall(
        r"^\| (\w+)(?: \*)? +\| \d\.\d{3} ± \d\.\d{3}", done.stdout, flags=re.MULTILINE
    )
    assert sorted(rows) == sorted(LOSSES)
    for hint in ("latest.html", "kedro mlflow ui", "kedro viz"):
        assert hint in done.stdout


def test_default_run_says_nothing_of_warnings(finished):
    assert "Warning" not in finished[1].stderr


def test_report_is_versioned_self_contained_and_linked_to_latest(finished):
    folder = finished[0] / REPORTS
    page = newest(folder / "report.html").read_text()
    assert (folder / "latest.html").read_text() == page
    assert not re.search(r"<(script|link)[^>]+(src|href)=", page)
    for part in (*RESULT_PLOTS, *CORPUS_PLOTS):
        assert f'id="{part}"' in page
    assert 'href="../soft_labels/soft_labels.html"' in page
    assert (folder / "../soft_labels/soft_labels.html").is_file()


def test_metrics_carry_a_seed_axis_with_mean_and_spread(finished):
    metrics = read_json(finished[0] / REPORTS / "db_loss/metrics.json")
    one, two = (metrics["seeds"][seed]["macro_f1"] for seed in ("1", "2"))
    assert metrics["mean"]["macro_f1"] == pytest.approx((one + two) / 2)
    assert metrics["std"]["macro_f1"] == pytest.approx(abs(one - two) / 2**0.5)
    assert {"tail/macro_f1", "head/micro_f1", "ranking_loss"} <= set(metrics["mean"])


def test_comparison_table_has_a_row_per_loss_best_macro_f1_first(finished):
    table = pd.read_csv(newest(finished[0] / REPORTS / "comparison.csv"))
    assert sorted(table["loss"]) == sorted(LOSSES)
    assert table["macro_f1"].is_monotonic_decreasing


def test_every_loss_has_intervals_errors_and_a_difference_to_the_reference(finished):
    folder = finished[0] / REPORTS
    told = read_json(folder / "uncertainty.json")
    assert set(told["losses"]) == set(LOSSES)
    for loss, metrics in told["losses"].items():
        result = read_json(folder / f"{loss}_loss/metrics.json")
        mean, marked = result["mean"], result["training"]["mark"] is not None
        assert metrics["micro_f1"]["value"] == mean["micro_f1"]
        assert metrics["micro_f1"]["low"] < mean["micro_f1"] < metrics["micro_f1"]["high"]
        untested = loss == told["reference"] or marked
        assert (metrics["micro_f1"]["p_holm"] is None) == untested
        errors = read_json(folder / f"{loss}_loss/errors.json")
        assert len(errors["by_frequency_decile"]) == 10


def test_every_loss_has_predictions_that_its_metrics_agree_with(finished):
    project = finished[0]
    primary = project / "data/03_primary/cwe"
    split = pd.read_parquet(newest(primary / "splits.parquet"))["split"].to_numpy()
    label_matrix = sparse.load_npz(newest(primary / "label_matrix.npz"))
    truth = sparse.csr_array(label_matrix)[split == "test"].toarray()
    for loss in LOSSES:
        stored = project / f"data/07_model_output/cwe/probe/{loss}_loss/predictions.safetensors"
        predictions = Predictions.from_arrays(load_file(newest(stored)))
        metrics = read_json(project / REPORTS / f"{loss}_loss/metrics.json")
        assert predictions.primary == metrics["rule"] == "tuned"
        for seed in ("1", "2"):
            predicted = predictions.of("test", "tuned", seed).toarray()
            expected = f1_score(truth, predicted, average="micro")
            assert metrics["seeds"][seed]["micro_f1"] == pytest.approx(expected), loss


def test_soft_zlpr_is_trained_on_soft_targets_and_differs_from_zlpr(finished):
    project = finished[0]
    stored = project / "data/05_model_input/cwe/soft_zlpr_loss/soft_targets.safetensors"
    assert newest(stored).is_file()
    models = project / "data/06_models/cwe/probe"
    soft, hard = (
        load_file(newest(models / f"{loss}_loss/model.safetensors"))
        for loss in ("soft_zlpr", "zlpr")
    )
    assert set(soft) == set(hard)
    assert any((soft[name] != hard[name]).any() for name in soft)


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
    metrics = read_json(finished[0] / REPORTS / "focal_loss/metrics.json")
    logged = child.data.metrics
    assert logged["test/macro_f1"] == metrics["seeds"]["1"]["macro_f1"]
    assert logged["test/own/macro_f1"] == metrics["own"]["seeds"]["1"]["macro_f1"]
    assert logged["test/macro_f1_low"] < logged["test/macro_f1_high"]
    assert {"test/rules/per_label/macro_f1", "validation/rules/top_k/micro_f1"} <= set(logged)
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
    tables = {"comparison.csv", "corpus_table.csv", "diagnosis.json", "uncertainty.json"}
    assert kept == {*tables, "report.html"}


def test_report_refuses_results_that_differ_in_more_than_the_loss_or_marks_them(
    finished, monkeypatch
):
    invoke = invoker_in(finished[0], monkeypatch)
    done = invoke("run", "--env=test", "--pipelines=db_loss", "--seeds=1")
    assert done.exit_code == 0, done.output
    done = invoke("run", "--env=test", "--pipelines=report")
    assert done.exit_code != 0
    assert "db: seeds is ['1'], expected ['1', '2']" in " ".join(done.stderr.split())
    done = invoke("run", "--env=test", "--pipelines=report", "--params=report.on_mismatch=mark")
    assert done.exit_code == 0, done.output
    folder = finished[0] / REPORTS
    marked = pd.read_csv(newest(folder / "comparison.csv")).set_index("loss")["differs"].dropna()
    assert list(marked.index) == ["db"]
    told = read_json(folder / "uncertainty.json")["losses"]
    assert told["db"]["macro_f1"]["p"] is None
    assert told["zlpr"]["macro_f1"]["p"] is not None


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory, mlflow_store: Path) -> Path:
    """A project after `kedro run --losses=bce,db` on a small corpus."""
    project = make_small_project(tmp_path_factory.mktemp("small") / "project", mlflow_store)
    with pytest.MonkeyPatch.context() as patch:
        done = invoker_in(project, patch)("run", "--env=test", "--losses=bce,db", "--seeds=2")
    assert done.exit_code == 0, done.output
    (project / "printed.txt").write_text(done.stdout)
    return project


def told_losses(printed: str) -> list[str]:
    return sorted(re.findall(r"^\| (\w+)(?: \*)? +\| \d\.\d{3}", printed, flags=re.MULTILINE))


def losses_of_page(project: Path) -> set[str]:
    """The losses whose rows the comparison on the page has."""
    page = (project / REPORTS / "latest.html").read_text()
    return {loss for loss in LOSSES if re.search(rf'data-loss="{loss}"', page)}


def test_chosen_losses_are_trained_and_reported_alone(small):
    assert told_losses((small / "printed.txt").read_text()) == ["bce", "db"]
    table = pd.read_csv(newest(small / REPORTS / "comparison.csv"))
    assert sorted(table["loss"]) == ["bce", "db"]
    assert table["seeds"].tolist() == [2, 2]
    told = read_json(small / REPORTS / "uncertainty.json")
    assert told["reference"] == "bce"
    assert set(told["losses"]) == {"bce", "db"}
    models = {path.name for path in (small / "data/06_models/cwe/probe").iterdir()}
    assert models == {"bce_loss", "db_loss"}
    assert losses_of_page(small) == {"bce", "db"}
    assert "soft_labels.html" not in (small / REPORTS / "latest.html").read_text()


def test_seeds_are_trained_from_the_first_on(small):
    metrics = read_json(small / REPORTS / "db_loss/metrics.json")
    assert list(metrics["seeds"]) == ["1", "2"]
    model = load_file(newest(small / "data/06_models/cwe/probe/db_loss/model.safetensors"))
    assert {name.split("/")[0] for name in model} == {"seed_1", "seed_2"}


def test_one_chosen_loss_is_its_own_reference(small, monkeypatch):
    done = invoker_in(small, monkeypatch)("run", "--env=test", "--losses=db")
    assert done.exit_code == 0, done.output
    assert told_losses(done.stdout) == ["db"]
    told = read_json(small / REPORTS / "uncertainty.json")
    assert (told["reference"], list(told["losses"])) == ("db", ["db"])


@pytest.mark.parametrize(("rule", "trainings"), [("per_label", 0), ("top_k", 0), ("own", 1)])
def test_primary_rule_is_taken_from_stored_scores_on_unless_epochs_are_judged_by_it(
    small, monkeypatch, rule, trainings
):
    invoke = invoker_in(small, monkeypatch)
    words = ["--pipelines=bce_loss", "--env=test"]
    models = small / "data/06_models/cwe/probe/bce_loss/model.safetensors"
    trained = len(list(models.iterdir()))
    done = invoke("run", *words, f"--params=primary_rule={rule},num_seeds=2")
    assert done.exit_code == 0, done.output
    assert len(list(models.iterdir())) == trained + trainings
    metrics = read_json(small / REPORTS / "bce_loss/metrics.json")
    assert metrics["rule"] == rule
    assert metrics["mean"]["micro_f1"] == pytest.approx(metrics["rules"][rule]["test"]["micro_f1"])
    assert (metrics["own"] is None) == (rule == "own")


def test_variants_lie_in_folders_of_their_own(small, monkeypatch):
    before = sorted((small / REPORTS).rglob("*"))
    invoke = invoker_in(small, monkeypatch)
    changes = "recipes.probe.model.hidden_dim=0,min_label_frequency=31"
    done = invoke("run", "--env=test", "--pipelines=bce_loss", f"--params={changes}")
    assert done.exit_code == 0, done.output
    variant = small / "data/08_reporting/cwe-min_label_frequency=31/probe-hidden_dim=0"
    assert (variant / "bce_loss/metrics.json").is_dir()
    assert sorted((small / REPORTS).rglob("*")) == before


def test_hybrid_is_compared_and_scores_new_texts_as_those_of_the_corpus(project, invoke):
    def tensors(place: str) -> dict[str, Any]:
        return load_file(newest(project / f"data/{place}.safetensors"))

    words = ("--recipe=hybrid", "--losses=bce,mask_element", "--seeds=2")
    done = invoke("run", "--env=test", *words)
    assert done.exit_code == 0, done.output
    assert told_losses(done.stdout) == ["bce", "mask_element"]
    features = project / "data/04_feature/cwe"
    tokenizer, statistics = (
        read_json(features / f"{name}.json") for name in ("hybrid/tokenizer", "label_statistics")
    )
    assert {"memory", "secret"} <= set(tokenizer["vocabulary"]["words"])
    options = {"runtime_params": {"recipe": "hybrid"}, **CONFIG_LOADER_ARGS}
    settings = LosslabConfigLoader(str(project / "conf"), env="test", **options)["parameters"]
    recipe = Recipe(**settings["recipe"])
    job = describe_job(LossSettings(**settings["bce_loss"]), recipe, statistics, "multi")
    model = tensors("06_models/cwe/hybrid/bce_loss/model")
    network = load_network(job, model, 2, tensors("04_feature/cwe/hybrid/features"))
    splits = pd.read_parquet(newest(project / "data/03_primary/cwe/splits.parquet"))
    texts = splits.loc[splits["split"] == "test", "text"].tolist()
    scores = text_scorer(network, recipe.model, tokenizer)(texts)
    saved = tensors("07_model_output/cwe/hybrid/bce_loss/scores")["test"]
    assert scores == pytest.approx(saved[1], abs=1e-5)


@pytest.mark.parametrize("flag", ["--pipeline", "--pipelines"])
def test_one_loss_runs_by_itself_and_leaves_the_others_alone(project, invoke, flag):
    done = invoke("run", "--env=test", f"{flag}=db_loss")
    assert done.exit_code == 0, done.output
    assert "| db " in done.stdout
    assert [f.name for f in (project / "data/06_models/cwe/probe").iterdir()] == ["db_loss"]
    reports = {path.name for path in (project / REPORTS / "db_loss").iterdir()}
    kept = {"metrics.json", "resamples.safetensors", "errors.json", "score_curves.parquet"}
    assert reports == {*kept, "label_doubts.npz", "latest"}


def test_same_seed_gives_the_same_files_in_any_process_and_another_seed_another_model(
    project, kedro, invoke
):
    words = ("run", "--env=test", "--pipelines=db_loss")
    done = kedro(*words, "--params=seed=1")
    assert done.returncode == 0, done.stderr
    for seed in (1, 2):
        result = invoke(*words, "--fresh", f"--params=seed={seed}")
        assert result.exit_code == 0, result.output

    def read(file: str) -> list[bytes]:
        versions = sorted((project / "data" / file).iterdir())
        return [(version / Path(file).name).read_bytes() for version in versions]

    first, second, _ = read("08_reporting/cwe/probe/db_loss/metrics.json")
    assert first == second
    models = read("06_models/cwe/probe/db_loss/model.safetensors")
    first, second, other = (
        load(model)[f"seed_{seed}/model.layers.1.weight"]
        for seed, model in zip((1, 1, 2), models, strict=True)
    )
    assert (first == second).all()
    assert (first != other).any()


def test_unreachable_tracking_server_costs_a_warning_not_the_run(project, kedro):
    done = kedro(
        "run", "--env=test", "--pipelines=bce_loss", MLFLOW_TRACKING_URI="http://127.0.0.1:9"
    )
    assert done.returncode == 0, done.stderr
    warnings = [line for line in done.stderr.splitlines() if "WARNING" in line]
    assert len([line for line in warnings if "training documents for batches" not in line]) == 1
    assert "what it misses is sent later" in done.stderr
    assert "the next run sends it what it misses" in done.stdout
    assert (project / REPORTS / "bce_loss/metrics.json").is_dir()


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, and what it holds."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


FOLDED = "data/08_reporting/cwe-folds=2"
ENOUGH = ",".join(f"recipes.probe.training.{name}=20" for name in ("epochs", "patience"))
"""Epochs after which losses on the small corpus have learned: those with a mark are not tested."""
CROSS_VALIDATE = (
    "cross-validate",
    "--env=test",
    "--folds=2",
    "--losses=bce,db",
    f"--params={ENOUGH}",
)


@pytest.fixture(scope="module")
def folded(tmp_path_factory: pytest.TempPathFactory, mlflow_store: Path):
    """A project after `kedro run`, a cross-validation that broke off in fold 2, and its repetition."""
    project = make_small_project(tmp_path_factory.mktemp("folded") / "project", mlflow_store)
    with pytest.MonkeyPatch.context() as patch:
        invoke = invoker_in(project, patch)
        assert invoke("run", "--env=test", "--losses=bce,db").exit_code == 0
        before = contents(project / "data/08_reporting/cwe")
        obstacle = project / "data/03_primary/cwe-folds=2/fold=2"
        obstacle.parent.mkdir()
        obstacle.write_text("in the way")
        broken = invoke(*CROSS_VALIDATE)
        left = contents(project / FOLDED)
        obstacle.unlink()
        done = invoke(*CROSS_VALIDATE)
    return project, before, (broken, left), done


def test_cross_validation_ends_with_the_path_of_its_page_and_its_table(folded):
    project, _, _, done = folded
    assert done.exit_code == 0, done.output
    assert told_losses(done.stdout) == ["bce", "db"]  # one table: no fold prints its own
    told = done.stdout[done.stdout.index("fold 2 of 2") :].split("\n\n")
    assert told[1] == f"report   {FOLDED}/probe/latest.html"
    assert told[2].startswith("| loss | micro-F1 ")
    page = (project / FOLDED / "probe/latest.html").read_text()
    assert "2-fold cross-validation on cwe" in page


def test_folds_share_documents_and_embeddings(folded):
    project, *_ = folded
    for layer, name in (
        ("02_intermediate/cwe", "documents.parquet"),
        ("04_feature/cwe/embeddings-minilm-mean-16-head", "embeddings.safetensors"),
    ):
        assert len(list((project / "data" / layer / name).iterdir())) == 1


def test_cross_validation_leaves_the_ordinary_report_as_it_was(folded):
    project, before, _, _ = folded
    assert "probe/latest.html" in before
    assert contents(project / "data/08_reporting/cwe") == before
    reports = {path.name for path in (project / "data/08_reporting").iterdir()}
    assert reports == {"cwe", "cwe-folds=2"}


def test_table_over_folds_is_of_the_folds_results(folded):
    project, *_ = folded
    table = pd.read_csv(newest(project / FOLDED / "probe/fold_comparison.csv"))
    row = table.set_index(["metric", "loss"]).loc[("macro_f1", "db")]
    values = {
        loss: [
            read_json(project / FOLDED / f"fold={fold}/probe/{loss}_loss/metrics.json")["mean"]
            for fold in (1, 2)
        ]
        for loss in ("bce", "db")
    }
    bce, db = ([mean["macro_f1"] for mean in values[loss]] for loss in ("bce", "db"))
    assert (row["folds"], row["mean"]) == (2, pytest.approx(sum(db) / 2))
    assert row["p"] == row["p_holm"] == pytest.approx(ttest_rel(db, bce).pvalue)


def test_finished_folds_outlive_one_that_failed(folded):
    project, _, (broken, left), _ = folded
    assert broken.exit_code == 1
    assert broken.stderr.strip().splitlines()[-1].startswith("Error: ")
    assert {name.split("/")[0] for name in left} == {"fold=1"}
    now = contents(project / FOLDED)
    assert {name: now[name] for name in left if "/latest/" not in name} == {
        name: content for name, content in left.items() if "/latest/" not in name
    }


def test_every_fold_has_folders_and_a_split_of_its_own(folded):
    project, *_ = folded
    splits = [
        pd.read_parquet(newest(project / f"data/03_primary/cwe-folds=2/fold={fold}/splits.parquet"))
        for fold in (1, 2)
    ]
    first, second = (table.set_index("id")["split"] for table in splits)
    assert (first == "test").equals(second == "test")
    assert ((first == "validation") != (second == "validation"))[first != "test"].all()
    shared = {"01_raw", "02_intermediate"}  # documents are those of the whole corpus
    for layer in (project / "data").iterdir():
        if layer.name not in shared and not layer.name.startswith("."):
            below = {path.name for path in (layer / "cwe-folds=2").iterdir()}
            assert {"fold=1", "fold=2"} <= below <= {"fold=1", "fold=2", "probe"}


def test_runs_of_a_cross_validation_are_tagged_with_their_fold(folded):
    project, *_ = folded
    client = MlflowClient(f"sqlite:///{project}/mlflow.db")
    experiment = client.get_experiment_by_name("losslab")
    runs = client.search_runs([experiment.experiment_id], "attributes.status = 'FINISHED'")
    parents = [run.data.tags for run in runs if "mlflow.parentRunId" not in run.data.tags]
    folds = [(tags.get("fold"), tags.get("folds")) for tags in reversed(parents)]
    assert folds == [(None, None), ("1", "2"), ("1", "2"), ("2", "2"), ("all", "2")]


def test_missing_fold_is_named_when_folds_are_compared_again(folded, monkeypatch):
    project, *_ = folded
    shutil.rmtree(project / FOLDED / "fold=2/probe/db_loss/metrics.json")
    words = ("--env=test", "--losses=bce,db", f"--params={ENOUGH},split.folds=2")
    done = invoker_in(project, monkeypatch)("run", "--pipelines=cross_validation", *words)
    assert done.exit_code == 0, done.output
    assert re.search(r"^\| db .*\| 1 \(no 2\) +\|$", done.stdout, flags=re.MULTILINE)
    page = (project / FOLDED / "probe/latest.html").read_text()
    assert "<b>db</b>: no result of fold 2" in page


@pytest.fixture
def graph(project, kedro) -> dict[str, Any]:
    """The graph that Kedro-Viz draws."""
    done = kedro("viz", "build")
    assert done.returncode == 0, done.stderr
    for complaint in ("Cannot find parameter", "Circular dependency", "UserWarning"):
        assert complaint not in done.stdout + done.stderr
    return json.loads((project / "build/api/main").read_text())


def test_viz_shows_stages_first_each_loss_as_a_group_and_layers(graph):
    groups = graph["modular_pipelines"]
    shown = [part for part in groups["__root__"]["children"] if part["type"] != "parameters"]
    assert len(shown) <= 40  # parameters are hidden until asked for
    losses = {name.split(".")[-1] for name in groups if name.count(".") == 2}
    assert losses >= {f"{loss}_loss" for loss in LOSSES}
    ordered = [layer for layer in graph["layers"] if layer]
    expected = ["raw", "intermediate", "primary", "feature", "model_input", "models"]
    assert ordered[: len(expected)] == expected
    assert ordered[-2:] == ["model_output", "reporting"]
