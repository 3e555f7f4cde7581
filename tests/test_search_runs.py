"""kedro search: mistakes are told first, trials are the same however they are done, best.yml is used."""

import json

import pandas as pd
import pytest
import yaml
from conftest import invoker_in, make_small_project, newest, read_json
from mlflow.tracking import MlflowClient

REPORTS = "data/08_reporting/cwe/probe/search"
WORDS = ("--env=test", "--losses=focal,ce_count")
SHORT = "--params=search.startup_trials=1,search.warmup_steps=2"


def trials(project, loss):
    found = read_json(project / f"data/06_models/cwe/probe/{loss}_loss/search.json")
    return [{k: v for k, v in row.items() if k != "seconds"} for row in found["trials"]]


def saved(folder, name):
    """Every version that was computed: adopted ones are hard links."""
    return {file.stat().st_ino for file in folder.rglob(f"{name}/*/{name}")}


def models(project):
    return saved(project / "data/06_models", "model.safetensors")


def features(project):
    return saved(project / "data/04_feature", "features.safetensors")


@pytest.fixture(scope="module")
def searched(tmp_path_factory, mlflow_store):
    """A project after a search, in two steps and with two workers, and a run with its best.yml."""
    project = make_small_project(tmp_path_factory.mktemp("searched") / "project", mlflow_store)
    with pytest.MonkeyPatch.context() as patch:
        invoke = invoker_in(project, patch)
        begun = invoke("search", *WORDS, SHORT, "--trials=2", "--workers=2")
        assert begun.exit_code == 0, begun.output
        done = invoke("search", *WORDS, SHORT, "--trials=4", "--workers=1")
        trained = models(project)
        best = f"--params-file={REPORTS}/latest/best.yml"
        used = invoke("run", "--pipelines=modelling", *WORDS, best)
        assert used.exit_code == 0, used.output
    return project, done, trained


@pytest.fixture(scope="module")
def whole(tmp_path_factory, mlflow_store):
    """Another project after the same search at once."""
    project = make_small_project(tmp_path_factory.mktemp("whole") / "project", mlflow_store)
    with pytest.MonkeyPatch.context() as patch:
        words = (*WORDS, f"{SHORT},search.trials=4", "--workers=2")
        done = invoker_in(project, patch)("run", "--pipelines=search", *words)
    assert done.exit_code == 0, done.output
    return project


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["focal", "ce_count"])
def test_search_in_steps_has_the_trials_of_one_at_once(searched, whole, loss):
    assert len(trials(whole, loss)) == 4
    assert trials(searched[0], loss) == trials(whole, loss)


@pytest.mark.slow
def test_search_ends_with_a_table_a_page_and_the_order(searched):
    project, done, _ = searched
    assert done.exit_code == 0, done.output
    told = done.stdout.splitlines()
    assert f"report   {REPORTS}/latest.html" in told
    assert f"settings {REPORTS}/latest/best.yml" in told
    assert [line.split(":")[0] for line in told if "; tuned: " in line] == ["validation", "test"]
    table = pd.read_csv(newest(project / REPORTS / "table.csv")).set_index("loss")
    for loss in ("focal", "ce_count"):
        rows = trials(project, loss)
        best = max(row["value"] for row in rows if row["state"] == "complete")
        assert table.loc[loss, "trials"] == 4
        assert table.loc[loss, "validation_default"] == rows[0]["value"]
        assert table.loc[loss, "validation_tuned"] == best >= rows[0]["value"]
    assert "Does tuning change the order" in (project / REPORTS / "latest.html").read_text()


@pytest.mark.slow
def test_best_settings_are_those_of_the_tuned_run(searched):
    project, _, trained = searched
    assert models(project) == trained  # the run with best.yml took up the tuned models
    best = yaml.safe_load((project / REPORTS / "latest/best.yml").read_text())
    assert best
    jobs = {job["label"]: job for job in read_json(project / REPORTS / "results.json")["jobs"]}
    for loss in ("focal", "ce_count"):
        metrics = read_json(project / f"data/08_reporting/cwe/probe/{loss}_loss/metrics.json")
        assert metrics["seeds"] == jobs["tuned"]["metrics"][loss]
        settings = best.get(f"{loss}_loss", {})
        assert metrics["options"] | settings == metrics["options"]
    assert {"learning_rate"} <= set(best[next(iter(best))])


@pytest.mark.slow
def test_every_trial_has_a_run_that_tells_the_truth(searched):
    client = MlflowClient(f"sqlite:///{searched[0]}/mlflow.db")
    experiment = client.get_experiment_by_name("losslab")
    runs = client.search_runs([experiment.experiment_id])
    told = {
        (run.data.tags["loss"], int(run.data.tags["trial"])): run
        for run in sorted(runs, key=lambda run: run.info.start_time)
        if "trial" in run.data.tags
    }
    for loss in ("focal", "ce_count"):
        for row in trials(searched[0], loss):
            run = told[loss, row["number"]]
            assert run.info.status == "FINISHED"
            assert ("pruned" in run.data.tags) == (row["state"] == "pruned")
            assert ("current" in run.data.tags) == (row["number"] < 2)
            assert run.data.metrics["validation/macro_f1"] == pytest.approx(row["value"])
            rate = run.data.params["loss_options.learning_rate"]
            assert float(rate) == row["settings"]["learning_rate"]
    kept = {file.path for run in runs for file in client.list_artifacts(run.info.run_id)}
    assert {"search.html", "search.csv", "best.yml"} <= kept


@pytest.mark.slow
def test_study_of_another_search_is_refused_and_fresh_begins_anew(searched, monkeypatch):
    project = searched[0]
    invoke = invoker_in(project, monkeypatch)
    words = (*WORDS, "--params=search.startup_trials=1,search.warmup_steps=3", "--trials=2")
    refused = invoke("search", *words)
    assert refused.exit_code == 1
    last = refused.stderr.strip().splitlines()[-1]
    assert "search.warmup_steps is 2, expected 3" in last
    assert "begin anew by kedro search --fresh" in last
    before = features(project)
    anew = invoke("search", *words, "--fresh", "--workers=1")
    assert anew.exit_code == 0, anew.output
    assert len(trials(project, "focal")) == 2
    assert features(project) == before  # they are not computed again


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--trials=0"], "parameter 'search.trials': Input should be greater than or equal to 1"),
        (["--losses=bcee"], "unknown loss 'bcee'; did you mean 'bce'?"),
        (["--losses=ce"], "losses: ce does not fit multi-label data"),
        (["--params=search.startup_trials=0"], "parameter 'search.startup_trials': Input should"),
        (["--params=search.trails=3"], "unknown parameter 'search.trails'; did you mean"),
        (["--pipelines=data"], "--pipelines does not go with search, which runs every loss whole"),
        (["--params-file=nowhere.yml"], "--params-file: [Errno 2] No such file"),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_mistake_is_told_in_one_line_before_any_run(project, invoke, calls, words, message):
    done = invoke("search", *words, "--env=test")
    assert done.exit_code == 1
    assert done.stderr.strip().splitlines()[-1].startswith(f"Error: {message}")
    assert calls == []


def test_params_file_is_read_and_params_go_before_it(project, invoke, calls):
    file = project / "best.yml"
    file.write_text("focal_loss: {gamma: 1.5, learning_rate: 0.01}\nseed: 3\n")
    words = ("--env=test", f"--params-file={file}")
    assert invoke("run", *words, "--params=focal_loss.gamma=0.5").exit_code == 0
    assert calls[0]["params"] == {"focal_loss": {"gamma": 0.5, "learning_rate": 0.01}, "seed": 3}
    file.write_text("# every default is best\n")
    assert invoke("run", *words).exit_code == 0
    assert calls[1]["params"] == {}
    for content, message in (("- 1", "holds no parameters by name"), ("a: [", "while parsing")):
        file.write_text(content)
        refused = invoke("run", *words)
        assert refused.exit_code == 1
        assert message in refused.stderr
    file.write_text(json.dumps({"focal_loss": {"learning_rate": 0}}))
    refused = invoke("run", *words)
    assert "Error: parameter 'focal_loss.learning_rate': " in refused.stderr
