"""The command line: mistakes told in one line, cross-validation, fetching."""

import json
import tarfile

import pandas as pd
import pytest
from click.testing import CliRunner
from kedro.framework.cli.project import run as kedro_run
from kedro.framework.startup import bootstrap_project

from losslab.cli import cli
from losslab.errors import CorpusError


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--params=recpe=probe"], "unknown parameter 'recpe'; did you mean 'recipe'?"),
        (
            ["--params=db_loss.gama=1", "--pipelines=bce_loss"],
            "unknown parameter 'db_loss.gama'; did you mean 'db_loss.gamma'?",
        ),
        (["--params=recipe=papre"], "unknown recipe 'papre'; "),
        (["--params=dataset=nowhere"], "unknown dataset 'nowhere'; choose from "),
        (["--env=tset"], "unknown environment 'tset'; did you mean 'test'?"),
        (["--pipelines=dbloss"], "unknown pipeline 'dbloss'; did you mean 'db_loss'?"),
        (["--nodes=trian"], "unknown node 'trian'"),
        (["--runner=ThreadRunner"], "unknown runner 'ThreadRunner'; choose from"),
        (["--params=threshold.lowest=0.7"], "parameter 'threshold': lowest must not be above"),
        (
            ["--env=test", "--params=recipes.probe.backbone=nowhere/none"],
            "no encoder 'nowhere/none'",
        ),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_mistake_is_told_in_one_line(project, kedro, words, message):
    done = kedro("run", *words)
    assert done.returncode == 1
    assert f"Error: {message}" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (project / "data/04_feature").exists()


def test_registry_is_listed_without_torch_or_transformers(kedro):
    done = kedro("registry", "list", PYTHONVERBOSE="1")
    assert "- db_loss" in done.stdout
    loaded = {
        line.split("'")[1] for line in done.stderr.splitlines() if line.startswith("import '")
    }
    assert "losslab.pipeline_registry" in loaded
    assert not loaded & {"torch", "transformers", "sklearn"}


@pytest.fixture
def in_project(project, monkeypatch):
    monkeypatch.delenv("LOSSLAB_MIRROR", raising=False)
    monkeypatch.chdir(project)
    bootstrap_project(project)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ModuleNotFoundError("No module named 'jieba'", name="jieba"), "pip install jieba"),
        (
            ModuleNotFoundError("No module named 'sklearn'", name="sklearn.svm"),
            "install scikit-learn",
        ),
        (ModuleNotFoundError("get it: pip install x"), "Error: get it: pip install x\n"),
        (CorpusError("file.csv, line 3: no label"), "Error: file.csv, line 3: no label\n"),
    ],
)
def test_errors_that_explain_themselves_come_without_a_traceback(
    in_project, monkeypatch, error, message
):
    def fail(**_):
        raise error

    monkeypatch.setattr(kedro_run, "callback", fail)
    result = CliRunner().invoke(cli, ["run", "--env=test"])
    assert result.exit_code == 1
    assert message in result.output


def test_our_own_faults_keep_their_traceback(in_project, monkeypatch):
    def fail(**_):
        raise RuntimeError("a bug")

    monkeypatch.setattr(kedro_run, "callback", fail)
    result = CliRunner().invoke(cli, ["run", "--env=test"])
    assert isinstance(result.exception, RuntimeError)


def test_unknown_environment_is_told_wherever_it_comes_from(project, kedro):
    done = kedro("run", "--pipelines=prepare", KEDRO_ENV="tset")
    assert done.returncode == 1
    assert "Error: unknown environment 'tset'; did you mean 'test'?" in done.stderr


def test_broken_configuration_is_told_in_one_line(project, kedro):
    (project / "conf/local/parameters.yml").write_text("seeds: [1\n")
    done = kedro("run", "--pipelines=prepare")
    assert done.returncode == 1
    assert "parameters.yml" in done.stderr
    assert "Traceback" not in done.stderr


def test_fetch_puts_raw_files_in_place_and_lists_them(project, kedro, tmp_path):
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    with tarfile.open(mirror / "trec.tar.xz", "w:xz") as archive:
        archive.add(project / "conf" / "base", arcname="trec")
    done = kedro("fetch", "trec", "cwe", LOSSLAB_MIRROR=str(mirror))
    assert done.returncode == 0
    assert done.stdout.splitlines() == [
        "trec: data/01_raw/trec",
        "cwe: comes with the package cwe2",
    ]
    assert (project / "data/01_raw/trec/globals.yml").is_file()
    listed = [line.split()[:2] for line in kedro("fetch", "--list").stdout.splitlines()]
    assert ["trec", "yes"] in listed
    assert ["yelp", "no"] in listed


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["reters"], "Error: unknown dataset 'reters'; did you mean 'reuters'?"),
        (["toxic"], "Error: toxic: it has to be fetched by hand"),
        ([], "Error: name one or more datasets; kedro fetch --list shows them"),
    ],
)
def test_fetch_that_cannot_be_done_fails_with_advice(in_project, words, message):
    result = CliRunner().invoke(cli, ["fetch", *words])
    assert result.exit_code != 0
    assert message in result.output


def test_fetch_goes_on_after_a_dataset_that_failed(in_project):
    result = CliRunner().invoke(cli, ["fetch", "toxic", "cwe"])
    assert result.exit_code == 1
    assert "cwe: comes with the package cwe2" in result.output


def test_cross_validation_runs_every_fold_and_compares_losses_over_them(project, kedro):
    chosen = "--pipelines=bce_loss,db_loss"
    done = kedro("cross-validate", "--env=test", chosen, "--folds=2", "--params=split.seed=3")
    assert done.returncode == 0, done.stderr
    assert "fold 2 of 2" in done.stdout
    (file,) = project.glob("data/08_reporting/across_folds.csv/*/across_folds.csv")
    table = pd.read_csv(file).set_index(["metric", "loss"])
    assert table.loc[("macro_f1", "db"), "folds"] == 2
    saved = [json.loads(f.read_text()) for f in project.glob("data/**/db_loss/metrics.json/*/*")]
    mean = sum(result["mean"]["macro_f1"] for result in saved) / 2
    assert table.loc[("macro_f1", "db"), "mean"] == pytest.approx(mean)
    assert {result["conditions"]["split"]["seed"] for result in saved} == {3}
    corpora = project.glob("data/03_primary/cwe/corpus_summary.json/*/*")
    assert {json.loads(f.read_text())["fold"] for f in corpora} == {"1 of 2", "2 of 2"}
