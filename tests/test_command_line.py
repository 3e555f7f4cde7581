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
        (["--params=recipe=papre"], "unknown recipe 'papre'; choose probe"),
        (["--params=dataset=nowhere"], "unknown dataset 'nowhere'; choose cwe"),
        (["--env=tset"], "unknown environment 'tset'; did you mean 'test'?"),
        (["--pipelines=dbloss"], "unknown pipeline 'dbloss'; did you mean 'db_loss'?"),
        (["--nodes=trian"], "unknown node 'trian'"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_mistake_is_told_in_one_line(project, kedro, words, message):
    done = kedro("run", *words)
    assert done.returncode == 1
    assert f"Error: {message}" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (project / "data/02_intermediate").exists()


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
