"""The command line: options in the words of the field, mistakes told in one line, fetching."""

import logging
import re
import sys
import tarfile

import pytest
from click.testing import CliRunner
from kedro.framework.cli.cli import KedroCLI
from kedro.framework.cli.project import run as kedro_run

from losslab.cli import _recipe_names
from losslab.errors import CorpusError, NonFiniteLossError
from losslab.losses import LOSSES
from losslab.parameters import losses_for_task

TRAININGS = len(losses_for_task("multi"))


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
        (["--from-nodes=train"], f"'train' is the end of {TRAININGS} nodes, such as modelling."),
        (["--namespaces=moddeling"], "unknown namespace 'moddeling'; did you mean 'modelling'?"),
        (["--tags=trainin"], "unknown tag 'trainin'; did you mean 'training'?"),
        (["--to-outputs=db_loss.metrics"], "unknown dataset 'db_loss.metrics'; did you mean"),
        (
            ["--dataset=reuters", "--params=threshold_grid.start=0.7"],
            "parameter 'threshold_grid': start must not be above",
        ),
        (["--params=seed=99999999999999999999"], "parameter 'seed': Input should be less than"),
        (
            ["--params=recipes.probe.model.hidden_dim=100000000"],
            "parameter 'recipes.probe.model.hid",
        ),
        (
            ["--seeds=1000000000"],
            "parameter 'num_seeds': Input should be less than or equal to 1000",
        ),
        (["--params=report.resamples=1000000000"], "parameter 'report.resamples': Input should be"),
        (
            ["--params=recipes.probe.training.learning_rate=inf"],
            "parameter 'recipes.probe.training.learning_rate': Input should be a finite number",
        ),
        (
            ["--params=db_loss.gamma=1e30"],
            "parameter 'db_loss.gamma': gamma must be a number up to",
        ),
        (["--params=db_loss.gamma=nan"], "parameter 'db_loss.gamma': gamma must be a number, got"),
        (
            ["--dataset=reuters", "--params=threshold_grid.step=1e-9"],
            "parameter 'threshold_grid': a step of 1e-09 makes more than 10,000 thresholds; set",
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
    assert not list(project.glob("data/04_feature/**/features.safetensors/*/*"))


@pytest.mark.parametrize("words", [["--seeds=0"], ["--seeds=two"], ["--async"]])
def test_option_that_cannot_be_is_a_usage_error(invoke, words):
    assert invoke("run", *words).exit_code == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--runner=ThreadRunner"], "unknown runner 'ThreadRunner'; did you mean 'RayRunner'?"),
        (
            ["--runner=losslab.runners.RayRuner"],
            "unknown runner 'RayRuner'; did you mean 'RayRunner'?",
        ),
        (["--runner-params=adress=auto"], "unknown runner parameter 'adress'"),
        (["--runner=RayRunner", "--runner-params=stor=x"], "unknown runner parameter 'stor'"),
    ],
)
def test_runner_of_another_kind_is_told_in_one_line(invoke, words, message):
    done = invoke("run", *words)
    assert done.exit_code == 1
    assert f"Error: {message}" in done.stderr


def test_skipping_by_existence_alone_is_not_offered(invoke):
    done = invoke("run", "--only-missing-outputs")
    assert done.exit_code == 2
    assert "No such option '--only-missing-outputs'" in done.stderr.replace(":", "")


def test_misspelt_loss_ends_the_process_with_one_line(kedro):
    done = kedro("run", "--losses=dbb")
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1].startswith("Error: unknown loss 'dbb'; did you")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["jupyter", "lab"], "Module 'jupyterlab' not found"),
        (["registry", "describe", "nowhere"], "'nowhere' pipeline not found"),
    ],
)
def test_an_error_of_kedros_own_commands_is_told(project, invoke, monkeypatch, words, message):
    monkeypatch.setitem(sys.modules, "jupyterlab", None)
    done = CliRunner().invoke(KedroCLI(project_path=project), words)
    assert done.exit_code == 1
    assert done.stderr.startswith(f"Error: {message}")


def test_help_lists_run_once(project, invoke):
    done = CliRunner().invoke(KedroCLI(project_path=project), ["--help"])
    assert done.exit_code == 0, done.output
    assert len(re.findall(r"^ +run ", done.output, flags=re.MULTILINE)) == 1
    for name in ("cross-validate", "fetch"):
        assert re.search(rf"^ +{name} ", done.output, flags=re.MULTILINE)


def test_help_shows_recipes_of_the_local_environment_too(project, monkeypatch):
    monkeypatch.chdir(project)
    own = "recipes: {mine: {extends: probe}, probe: {training: {epochs: 1}}}\n"
    (project / "conf/local/parameters_mine.yml").write_text(own)
    assert _recipe_names() == [*RECIPES, "mine"]
    (project / "conf/local/parameters_mine.yml").write_text("recipes: [")
    assert _recipe_names() == RECIPES


@pytest.mark.parametrize("command", ["run", "cross-validate"])
def test_help_shows_choices_and_no_runner_that_is_refused(invoke, command):
    words = " ".join(invoke(command, "--help").output.split())
    options = {option: words.partition(f"{option} ")[2].partition(" --")[0] for option in SHOWN}
    for option, choices in SHOWN.items():
        shown = re.findall(r"\w+", options[option])
        assert set(choices) <= set(shown), option
    assert "--seeds" in words
    for refused in ("--async", "ThreadRunner", "ParallelRunner"):
        assert refused not in words


RECIPES = ["probe", "hybrid", "textcnn", "lstm", "minilm", "bert", "roberta"]
RECIPES += ["image_probe", "cnn"]
SHOWN = {
    "--dataset": ["cwe", "reuters", "trec", "own"],
    "--recipe": RECIPES,
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
        (MemoryError("Unable to allocate 9 TiB"), "memory does not suffice: Unable to allocate 9"),
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


@pytest.mark.parametrize("error", [None, CorpusError("no label"), RuntimeError("a bug")])
def test_verbose_lasts_for_one_run(invoke, monkeypatch, caplog, error):
    caplog.set_level("INFO", "losslab")
    levels = []

    def run(**_):
        levels.append(logging.getLogger("losslab").level)
        if error:
            raise error

    monkeypatch.setattr(kedro_run, "callback", run)
    for words in (["--verbose"], []):
        invoke("run", "--env=test", *words)
    assert levels == [logging.DEBUG, logging.INFO]


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
    with tarfile.open(mirror / "hoc.tar.xz", "w:xz") as archive:
        archive.add(project / "conf" / "base", arcname="hoc")
    monkeypatch.setenv("LOSSLAB_MIRROR", str(mirror))
    done = invoke("fetch", "hoc", "cwe")
    assert done.exit_code == 0
    assert done.stdout.splitlines() == [
        "hoc: data/01_raw/hoc",
        "cwe: comes with the package cwe2",
    ]
    assert (project / "data/01_raw/hoc/globals.yml").is_file()
    listed = [line.split()[:2] for line in invoke("fetch", "--list").stdout.splitlines()]
    assert ["hoc", "yes"] in listed
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


def test_locks_of_killed_runs_are_removed_by_the_next_one(project, invoke):
    folder = project / "data/08_reporting/cwe/probe/metrics.json"
    folder.mkdir(parents=True)
    for name in (".1.lock", ".1.owner"):
        (folder / name).touch()
    assert invoke("run", "--env=test", "--pipelines=data").exit_code == 0
    assert list(folder.iterdir()) == []


def test_cross_validation_runs_every_fold_without_a_report_then_compares_them(invoke, calls):
    words = ("--losses=bce,db", "--seeds=2", "--recipe=lstm", "--params=split.seed=3,seed=5")
    done = invoke("cross-validate", "--folds=3", *words)
    assert done.exit_code == 0, done.output
    *folds, last = calls
    assert [call["params"]["split"] for call in folds] == [
        {"seed": 3, "folds": 3, "fold": fold} for fold in (1, 2, 3)
    ]
    assert {tuple(call["pipelines"]) for call in folds} == {("modelling",)}
    assert last["pipelines"] == ["cross_validation"]
    assert last["params"]["split"] == {"seed": 3, "folds": 3}
    chosen = {"losses": ["bce", "db"], "num_seeds": 2, "recipe": "lstm", "seed": 5}
    for call in calls:
        assert {name: call["params"][name] for name in chosen} == chosen


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--from-nodes=bce_loss.train"], "--from-nodes does not go with cross-validate"),
        (["--to-outputs=splits"], "--to-outputs does not go with cross-validate"),
        (["--nodes=split_documents"], "--nodes does not go with cross-validate"),
        (["--tags=training"], "--tags does not go with cross-validate"),
        (["--namespaces=data"], "--namespaces does not go with cross-validate"),
        (["--load-versions=splits:1"], "--load-versions does not go with cross-validate"),
        (["--pipelines=bce_loss"], "--pipelines does not go with cross-validate"),
        (["--pipeline=bce_loss"], "--pipeline does not go with cross-validate"),
        (["--params=split.fold=2"], "--params=split.fold does not go with cross-validate"),
        (["--params=split=3"], "parameter 'split' has parts, as in split.seed=3; got 3"),
        (["--params=split.folds=5"], "--params=split.folds does not go with cross-validate"),
        (["--losses=bce,dbb"], "unknown loss 'dbb'; did you mean 'db'?"),
        (["--params=report.referenze=bce"], "unknown parameter 'report.referenze'; did you"),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_option_that_makes_no_sense_over_folds_is_told_in_one_line(
    project, invoke, calls, words, message
):
    done = invoke("cross-validate", "--folds=2", *words)
    assert done.exit_code == 1
    assert done.stderr.strip().splitlines()[-1].startswith(f"Error: {message}")
    assert calls == []


@pytest.mark.parametrize("folds", ["1", "0", "two"])
def test_fewer_than_two_folds_are_a_usage_error(invoke, calls, folds):
    done = invoke("cross-validate", f"--folds={folds}")
    assert done.exit_code == 2
    assert done.stderr.strip().splitlines()[-1].startswith("Error: Invalid value for '--folds'")
    assert calls == []


def test_help_of_cross_validation_hides_what_it_refuses(invoke):
    words = invoke("cross-validate", "--help").output
    assert "--folds" in words
    for refused in ("--from-nodes", "--to-outputs", "--pipelines", "--tags", "--load-versions"):
        assert refused not in words


def test_loss_that_fails_in_a_fold_costs_that_fold_alone(invoke, monkeypatch):
    calls = []

    def run(**options):
        calls.append(options["pipelines"])
        if options["params"]["split"].get("fold") == 1:
            raise NonFiniteLossError("loss db, seed 1: NaN at step 7")

    monkeypatch.setattr(kedro_run, "callback", run)
    done = invoke("cross-validate", "--folds=2", "--losses=bce,db")
    assert calls == [["modelling"], ["modelling"], ["cross_validation"]]
    assert done.exit_code == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last == "Error: fold 1: loss db, seed 1: NaN at step 7"


def test_fold_that_cannot_be_run_ends_cross_validation(invoke, monkeypatch):
    calls = []

    def run(**options):
        calls.append(options)
        raise CorpusError("file.csv, line 3: no label")

    monkeypatch.setattr(kedro_run, "callback", run)
    done = invoke("cross-validate", "--folds=2", "--losses=bce,db")
    assert (len(calls), done.exit_code) == (1, 1)
    assert done.stderr.strip().splitlines()[-1] == "Error: file.csv, line 3: no label"


def test_comparison_of_no_folds_is_told_in_one_line(invoke):
    done = invoke("run", "--env=test", "--pipelines=cross_validation")
    assert done.exit_code == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("Error: no folds to compare: kedro cross-validate")
