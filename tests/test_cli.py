"""The command line: options in the words of the field, mistakes told in one line, fetching."""

import json
import re
import tarfile

import pandas as pd
import pytest
from click.testing import CliRunner
from kedro.framework.cli.cli import KedroCLI
from kedro.framework.cli.project import run as kedro_run

from losslab.errors import CorpusError
from losslab.losses import LOSSES


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--params=recpe=probe"], "unknown parameter 'recpe'; did you mean 'recipe'?"),
        (
            ["--params=db_loss.gama=1", "--pipelines=bce_loss"],
            "unknown parameter 'db_loss.gama'; did you mean 'db_loss.gamma'?",
        ),
        (["--recipe=minlm"], "unknown recipe 'minlm'; did you mean 'minilm'?"),
        (["--params=recipe=minlm"], "unknown recipe 'minlm'; did you mean 'minilm'?"),
        (["--dataset=reters"], "unknown dataset 'reters'; did you mean 'reuters'?"),
        (["--params=dataset=nowhere"], "unknown dataset 'nowhere'; choose from "),
        (["--losses=bce,dbb"], "unknown loss 'dbb'; did you mean 'db'?"),
        (["--losses=bce,ce"], "losses: ce does not fit multi-label data"),
        (
            ["--pipelines=ce_loss"],
            "ce_loss fits single-label tasks, this dataset is multi-label (parameter 'task')",
        ),
        (["--env=tset"], "unknown environment 'tset'; did you mean 'test'?"),
        (["--env=reuters"], "'reuters' is a dataset, not an environment: --dataset=reuters"),
        (["--pipelines=dbloss"], "unknown pipeline 'dbloss'; did you mean 'db_loss'?"),
        (["--pipeline=dbloss"], "unknown pipeline 'dbloss'; did you mean 'db_loss'?"),
        (["--nodes=trian"], "unknown node 'trian'; did you mean 'train'?"),
        (["--to-nodes=db_los.train"], "unknown node 'db_los.train'; did you mean 'db_loss.train'?"),
        (["--from-nodes=train"], "'train' is the end of 31 nodes, such as modelling."),
        (["--namespaces=moddeling"], "unknown namespace 'moddeling'; did you mean 'modelling'?"),
        (["--tags=trainin"], "unknown tag 'trainin'; did you mean 'training'?"),
        (["--to-outputs=db_loss.metrics"], "unknown dataset 'db_loss.metrics'; did you mean"),
        (
            ["--params=threshold_grid.start=0.7"],
            "parameter 'threshold_grid': start must not be above",
        ),
        (
            ["--env=test", "--params=recipes.probe.model.backbone=nowhere/none"],
            "no encoder 'nowhere/none'",
        ),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_mistake_is_told_in_one_line(project, invoke, words, message):
    done = invoke("run", *words)
    assert done.exit_code == 1
    assert isinstance(done.exception, SystemExit)
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(f"Error: {message}")
    assert not (project / "data/04_feature").exists()


@pytest.mark.parametrize("words", [["--seeds=0"], ["--seeds=two"], ["--runner=ThreadRunner"]])
def test_option_that_cannot_be_is_a_usage_error(invoke, words):
    assert invoke("run", *words).exit_code == 2


def test_misspelt_loss_ends_the_process_with_one_line(kedro):
    done = kedro("run", "--losses=dbb")
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1].startswith("Error: unknown loss 'dbb'; did you")
    assert "Traceback" not in done.stderr


def test_help_lists_run_once(project, invoke):
    done = CliRunner().invoke(KedroCLI(project_path=project), ["--help"])
    assert done.exit_code == 0, done.output
    assert len(re.findall(r"^ +run ", done.output, flags=re.MULTILINE)) == 1
    for name in ("cross-validate", "fetch"):
        assert re.search(rf"^ +{name} ", done.output, flags=re.MULTILINE)


@pytest.mark.parametrize("command", ["run", "cross-validate"])
def test_help_shows_choices_and_no_runner_that_is_refused(invoke, command):
    words = " ".join(invoke(command, "--help").output.split())
    options = {option: words.partition(f"{option} ")[2].partition(" --")[0] for option in SHOWN}
    for option, choices in SHOWN.items():
        shown = re.findall(r"\w+", options[option])
        assert set(choices) <= set(shown), option
    assert "--seeds" in words
    for refused in ("--runner", "--async", "ThreadRunner", "ParallelRunner"):
        assert refused not in words


SHOWN = {
    "--dataset": ["cwe", "reuters", "trec", "own"],
    "--recipe": ["probe", "textcnn", "lstm", "minilm", "bert"],
    "--losses": list(LOSSES),
}


@pytest.fixture
def asked(invoke, monkeypatch):
    """What Kedro's own command is asked for, instead of running it."""
    calls = []
    monkeypatch.setattr(kedro_run, "callback", lambda **options: calls.append(options))

    def ask(*words):
        done = invoke("run", *words)
        assert done.exit_code == 0, done.output
        return calls[-1]

    return ask


def test_words_of_the_field_are_parameters(asked):
    options = asked("--dataset=trec", "--recipe=lstm", "--losses=bce, ce", "--seeds=3")
    expected = {"dataset": "trec", "recipe": "lstm", "losses": ["bce", "ce"], "num_seeds": 3}
    assert options["params"] == expected


def test_words_of_the_field_stand_beside_params(asked):
    options = asked("--seeds=2", "--params=seed=5,recipe=lstm")
    assert options["params"] == {"seed": 5, "recipe": "lstm", "num_seeds": 2}


def test_pipeline_is_taken_for_pipelines(asked):
    options = asked("--pipeline=db_loss")
    assert (options["pipeline"], options["pipelines"]) == (None, ["db_loss"])


def test_end_of_a_name_stands_for_the_only_node_or_namespace_that_has_it(asked):
    options = asked(
        "--from-nodes=db_loss.train,split_documents",
        "--to-nodes=modelling.balanced.db_loss.score",
        "--nodes=zlpr_loss.train",
        "--namespaces=db_loss",
    )
    assert options["from_nodes"] == ["modelling.balanced.db_loss.train", "data.split_documents"]
    assert options["to_nodes"] == ["modelling.balanced.db_loss.score"]
    assert options["node_names"] == ["modelling.zlpr.zlpr_loss.train"]
    assert options["namespaces"] == ["modelling.balanced.db_loss"]


def test_namespace_around_others_can_be_named(asked):
    assert asked("--namespaces=balanced")["namespaces"] == ["modelling.balanced"]
    assert asked("--namespaces=modelling")["namespaces"] == ["modelling"]


def test_dataset_keeps_the_local_environment(project, invoke):
    (project / "conf/local/parameters.yml").write_text("max_rejected: 0\n")
    (project / "conf/datasets/mine.yml").write_text("reader: cwe\n")
    file = project / "data/01_raw/cwe/2000.csv"
    rows = file.read_text() * 1
    file.write_text(rows + "98,Torn\n", encoding="utf-8")
    done = invoke("run", "--dataset=mine", "--pipelines=data")
    assert done.exit_code == 1
    assert "more than max_rejected (0.0%) allows" in done.stderr


def test_registry_is_listed_without_transformers_or_sklearn(kedro):
    done = kedro("registry", "list", PYTHONVERBOSE="1")
    assert "- db_loss" in done.stdout
    loaded = {
        line.split("'")[1] for line in done.stderr.splitlines() if line.startswith("import '")
    }
    assert "losslab.pipeline_registry" in loaded
    assert not loaded & {"transformers", "sklearn"}  # torch: the losses are its modules


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
    invoke, monkeypatch, error, message
):
    def fail(**_):
        raise error

    monkeypatch.setattr(kedro_run, "callback", fail)
    result = invoke("run", "--env=test")
    assert result.exit_code == 1
    assert message in result.output


@pytest.mark.parametrize(
    "error", [RuntimeError("a bug"), ModuleNotFoundError("No module", name="losslab.nothing")]
)
def test_our_own_faults_keep_their_traceback(invoke, monkeypatch, error):
    def fail(**_):
        raise error

    monkeypatch.setattr(kedro_run, "callback", fail)
    assert invoke("run", "--env=test").exception is error


def test_unknown_environment_is_told_wherever_it_comes_from(invoke, monkeypatch):
    monkeypatch.setenv("KEDRO_ENV", "tset")
    done = invoke("run", "--pipelines=data")
    assert done.exit_code == 1
    assert "Error: unknown environment 'tset'; did you mean 'test'?" in done.stderr


def test_broken_configuration_is_told_in_one_line(project, invoke):
    (project / "conf/local/parameters.yml").write_text("num_seeds: [1\n")
    done = invoke("run", "--pipelines=data")
    assert done.exit_code == 1
    assert isinstance(done.exception, SystemExit)
    assert "parameters.yml" in done.stderr.strip().splitlines()[-1]


def test_fetch_puts_raw_files_in_place_and_lists_them(project, invoke, tmp_path, monkeypatch):
    mirror = tmp_path / "mirror"
    mirror.mkdir()
    with tarfile.open(mirror / "trec.tar.xz", "w:xz") as archive:
        archive.add(project / "conf" / "base", arcname="trec")
    monkeypatch.setenv("LOSSLAB_MIRROR", str(mirror))
    done = invoke("fetch", "trec", "cwe")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "trec: data/01_raw/trec",
        "cwe: comes with the package cwe2",
    ]
    assert (project / "data/01_raw/trec/globals.yml").is_file()
    listed = [line.split()[:2] for line in invoke("fetch", "--list").stdout.splitlines()]
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
def test_fetch_that_cannot_be_done_fails_with_advice(invoke, words, message):
    result = invoke("fetch", *words)
    assert result.exit_code != 0
    assert message in result.output


def test_fetch_goes_on_after_a_dataset_that_failed(invoke):
    result = invoke("fetch", "toxic", "cwe")
    assert result.exit_code == 1
    assert "cwe: comes with the package cwe2" in result.output


@pytest.mark.slow
def test_cross_validation_runs_every_fold_and_compares_losses_over_them(project, invoke):
    chosen = "--pipelines=bce_loss,db_loss"
    done = invoke("cross-validate", "--env=test", chosen, "--folds=2", "--params=split.seed=3")
    assert done.exit_code == 0, done.output
    assert "fold 2 of 2" in done.stdout
    (file,) = project.glob("data/08_reporting/fold_comparison.csv/*/fold_comparison.csv")
    table = pd.read_csv(file).set_index(["metric", "loss"])
    assert table.loc[("macro_f1", "db"), "folds"] == 2
    saved = [json.loads(f.read_text()) for f in project.glob("data/**/db_loss/metrics.json/*/*")]
    assert len(saved) == 2
    mean = sum(result["mean"]["macro_f1"] for result in saved) / 2
    assert table.loc[("macro_f1", "db"), "mean"] == pytest.approx(mean)
    assert {result["conditions"]["split"]["seed"] for result in saved} == {3}
    corpora = project.glob("data/03_primary/*/corpus_summary.json/*/*")
    assert {json.loads(f.read_text())["fold"] for f in corpora} == {"1 of 2", "2 of 2"}
    assert not (project / "data/03_primary/cwe").exists()


def test_cross_validation_leaves_selected_nodes_out_of_its_last_pipeline(invoke, monkeypatch):
    calls = []
    monkeypatch.setattr(kedro_run, "callback", lambda **options: calls.append(options))
    done = invoke("cross-validate", "--folds=2", "--losses=bce", "--to-nodes=bce_loss.train")
    assert done.exit_code == 0, done.output
    *folds, last = calls
    assert [call["params"]["split"]["fold"] for call in folds] == [1, 2]
    assert all(call["to_nodes"][0].endswith(".bce_loss.train") for call in folds)
    assert (last["pipelines"], list(last["to_nodes"])) == (["meta_analysis"], [])
    assert "split" not in last["params"]
