"""Mistakes on the command line: one line that names the choices, no traceback, nothing run."""

import pytest
from click.testing import CliRunner
from kedro.framework.cli.project import run as kedro_run
from kedro.framework.startup import bootstrap_project

from losslab.cli import cli
from losslab.corpora import CorpusError


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--params=recpe=probe"], "unknown parameter 'recpe'; did you mean 'recipe'?"),
        (
            ["--params=db_loss.gama=1", "--pipelines=bce_loss"],
            "unknown parameter 'db_loss.gama'; did you mean 'db_loss.gamma'?",
        ),
        (["--params=recipe=papre"], "unknown recipe 'papre'; "),
        (["--params=dataset=nowhere"], "unknown dataset 'nowhere'; choose from cwe"),
        (["--env=tset"], "unknown environment 'tset'; did you mean 'test'?"),
        (["--pipelines=dbloss"], "unknown pipeline 'dbloss'; did you mean 'db_loss'?"),
        (["--nodes=trian"], "unknown node 'trian'"),
        (["--runner=ThreadRunner"], "unknown runner 'ThreadRunner'; choose from"),
        (["--params=threshold.lowest=0.7"], "parameter 'threshold': lowest must not be above"),
        (
            ["--env=test", "--params=recipes.probe.encoder=nowhere/none"],
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
