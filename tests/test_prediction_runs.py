"""``kedro predict`` and ``kedro export`` on what ``kedro run`` saved."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from conftest import invoker_in, make_small_project, newest
from mlflow.tracking import MlflowClient
from safetensors.numpy import load_file

import losslab
from losslab.evaluation import Predictions
from losslab.inference.command import main

pytestmark = pytest.mark.slow

RUN = ("run", "--losses=bce", "--seeds=2", "--workers=1")
TINY = {
    "probe": "recipes.probe.training.epochs=2",
    "hybrid": "recipes.hybrid.training.epochs=2,recipes.hybrid.model.max_length=16",
    "textcnn": "recipes.textcnn.training.epochs=2,recipes.textcnn.training.min_steps=0",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory, mlflow_store):
    return make_small_project(tmp_path_factory.mktemp("predict") / "project", mlflow_store)


@pytest.fixture(scope="module")
def trained(project, module_patch):
    """Commands in a project whose models are in MLflow, too."""
    invoke = invoker_in(project, module_patch)
    logged = "--params=mlflow.log_models=true,mlflow.register_as=weak"
    done = invoke(*RUN, "--env=test", "--baselines=svm", logged)
    assert done.exit_code == 0, done.output
    return invoke


def run(invoke, *words):
    done = invoke(*words, "--env=test")
    assert done.exit_code == 0, done.output
    return done.output


def test_documents(project):
    splits = pd.read_parquet(newest(project / "data/03_primary/cwe/splits.parquet"))
    return splits.loc[splits["split"] == "test", "text"].tolist()


test_documents.__test__ = False


def check_saved_predictions(project, invoke, folder, *words, recipe="probe"):
    """An exported model labels the test documents as the run that trained it did."""
    run(invoke, "export", "--loss=bce", "--seed=2", f"--to={folder}", *words)
    classifier, texts = losslab.load(folder), test_documents(project)
    output = project / f"data/07_model_output/cwe/{recipe}/bce_loss"
    saved = Predictions.from_arrays(load_file(newest(output / "predictions.safetensors")))
    scores = load_file(newest(output / "scores.safetensors"))["test"][1]
    assert classifier.scores(texts) == pytest.approx(scores, abs=1e-6)
    for rule in saved.rules:
        expected = saved.of("test", rule, 2).toarray()
        found = [set(each.labels) for each in classifier.predict(texts, rule=rule)]
        assert found == [
            {classifier.labels[column] for column in np.flatnonzero(row)} for row in expected
        ]


def test_an_exported_model_predicts_what_the_run_predicted(project, trained, tmp_path):
    check_saved_predictions(project, trained, tmp_path / "model")


@pytest.mark.long
@pytest.mark.parametrize("recipe", ["hybrid", "textcnn"])
def test_so_do_those_of_other_recipes(project, trained, tmp_path, recipe):
    options = (f"--recipe={recipe}", f"--params={TINY[recipe]}")
    folder = next_folder(recipe, project, trained, options)
    check_saved_predictions(project, trained, tmp_path / "model", *options, recipe=folder)


def next_folder(recipe, project, invoke, options):
    run(invoke, *RUN, "--pipelines=bce_loss", *options)
    folders = (project / "data/07_model_output/cwe").glob(f"{recipe}*")
    return max(folders, key=lambda folder: folder.stat().st_mtime).name


def test_a_file_is_labelled_by_the_best_method_and_by_the_pipeline(project, trained):
    texts = test_documents(project)
    pd.DataFrame({"text": texts}).to_csv(project / "texts.csv", index=False)
    told = run(trained, "predict", "texts.csv", "--loss=best", "--output=best.csv")
    assert "best by macro_f1: " in told
    run(trained, "predict", "texts.csv", "--loss=svm", "--top=3")
    by_command = pd.read_csv(project / "labels.csv")
    params = "--params=predict.file=texts.csv,predict.loss=svm,mlflow.log_models=false"
    run(trained, "run", "--pipelines=predict", "--seeds=2", params)
    folder = project / "data/07_model_output/cwe/probe"
    by_pipeline = pd.read_csv(newest(folder / "predicted_labels.csv"))
    assert by_pipeline["labels"].tolist() == by_command["labels"].tolist()
    assert len(by_command) == len(texts)


def test_explanations_have_a_page_beside_the_labels(project, trained):
    (project / "one.txt").write_text("The memory of part 3 is handled badly.\n")
    run(trained, "predict", "one.txt", "--loss=bce", "--rule=top_k", "--explain")
    row = pd.read_csv(project / "labels.csv").iloc[0]
    assert list(json.loads(row["words"])) == json.loads(row["labels"])
    assert "<mark" in (project / "labels.html").read_text()


def test_the_command_of_the_package_needs_no_project(project, trained, tmp_path, monkeypatch):
    folder = tmp_path / "model"
    run(trained, "export", "--loss=svm", f"--to={folder}")
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["predict", f"--model={folder}", "-"], input="a lock\n")
    assert done.exit_code == 0, done.output
    assert "Availability" in done.output
    missing = CliRunner().invoke(main, ["predict", "--model=nowhere", "-"], input="a\n")
    assert missing.exit_code == 1
    assert "nowhere is no model folder" in missing.output


def test_mlflow_has_the_model_of_the_best_seed_registered(project, trained):
    client = MlflowClient(f"sqlite:///{project}/mlflow.db")
    (version,) = client.search_model_versions("name='weak-bce'")
    run_of_seed = client.get_run(version.run_id)
    assert run_of_seed.data.tags["loss"] == "bce"
    model = client.get_logged_model(version.source.removeprefix("models:/"))
    assert model.name == "bce_loss"
    artifacts = Path(model.artifact_location.removeprefix("file://"))
    exported = losslab.load(artifacts / "data/model")
    assert str(exported.model.facts.seed) == run_of_seed.data.tags["seed"]
    assert not list((project / "data/.mlflow_outbox").glob("model-*"))


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("predict", "texts.csv", "--loss=db"), "no db_loss_"),
        (
            ("predict", "texts.csv", "--loss=bce", "--params=bce_loss.learning_rate=0.5"),
            "was made with",
        ),
        (("predict", "texts.csv", "--loss=bec"), "did you mean 'bce'"),
        (("predict", "texts.csv", "--loss=best", "--metric=f1"), "unknown metric"),
        (("predict", "texts.csv", "--loss=bce", "--seed=9"), "bce has no seed 9"),
        (("predict", "texts.csv", "--loss=bce", "--output=-"), "name a file by --output"),
        (("export", "--loss=bce", "--to=conf"), "is no model folder"),
    ],
)
def test_mistakes_are_one_line(trained, words, reason):
    done = trained(*words, "--env=test")
    assert done.exit_code == 1
    error = done.output[done.output.index("Error:") :]
    assert reason in error
    assert "Traceback" not in error
