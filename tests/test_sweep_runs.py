"""kedro sweep: jobs are checked first, metrics are of the job's own run, a failed one costs a point."""

import pandas as pd
import pytest
from conftest import invoker_in, make_small_project, newest, read_json
from kedro.framework.cli.project import run as kedro_run
from mlflow.tracking import MlflowClient

from losslab.errors import NonFiniteLossError, ParameterError
from losslab.sweep_runs import refuse_small_labels

SWEEP = "data/08_reporting/cwe/probe/sweeps/gamma"
GAMMA = """
sweeps:
  gamma:
    title: Focusing parameter
    losses: [focal]
    baseline: bce
    grid: {loss.gamma: [0.0, 2.0]}
"""


def write_sweeps(project, text=GAMMA):
    (project / "conf/test/sweeps.yml").write_text(text)


def models(project):
    """Every model that was saved, by content: adopted ones are hard links."""
    return {
        file.stat().st_ino
        for file in (project / "data/06_models").rglob("model.safetensors/*/*.safetensors")
    }


@pytest.fixture(scope="module")
def swept(tmp_path_factory, mlflow_store):
    """A project after `kedro sweep gamma`, its repetition, and single runs of both points."""
    project = make_small_project(tmp_path_factory.mktemp("swept") / "project", mlflow_store)
    write_sweeps(project)
    with pytest.MonkeyPatch.context() as patch:
        invoke = invoker_in(project, patch)
        words = ("--env=test", "--seeds=2", "--workers=1")
        first = invoke("sweep", "gamma", *words)
        trained = models(project)
        again = invoke("sweep", "gamma", *words)
        trained_again = models(project)
        single = {}
        for gamma in (2.0, 0.0):
            params = f"--params=focal_loss.gamma={gamma}"
            done = invoke("run", "--pipelines=focal_loss", "--fresh", params, *words)
            assert done.exit_code == 0, done.output
            metrics = read_json(project / "data/08_reporting/cwe/probe/focal_loss/metrics.json")
            single[gamma] = metrics["seeds"]
    return project, first, (again, trained, trained_again), single


@pytest.mark.slow
def test_sweep_lists_its_jobs_then_ends_with_page_and_table(swept):
    project, first, *_ = swept
    assert first.exit_code == 0, first.output
    told = first.stdout.splitlines()
    assert [line.split("  ")[0] for line in told[1:4]] == ["baseline", "gamma = 0", "gamma = 2"]
    assert told[4] == "3 jobs, 6 trainings; time: unknown, workers: 1"
    assert f"report   {SWEEP}/latest.html" in told
    assert [line.split("|")[1].strip() for line in told if line.startswith("| ")] == [
        *("macro-F1", "-" * 9, "baseline", "gamma = 0", "gamma = 2")
    ]
    assert "Focusing parameter" in (project / SWEEP / "latest.html").read_text()


@pytest.mark.slow
def test_result_of_a_point_is_that_of_a_single_run_with_its_parameters(swept):
    project, *_, single = swept
    jobs = {job["label"]: job for job in read_json(project / SWEEP / "results.json")["jobs"]}
    assert jobs["gamma = 0"]["metrics"] == {"focal": single[0.0]}
    assert jobs["gamma = 2"]["metrics"] == {"focal": single[2.0]}
    assert single[0.0] != single[2.0]
    table = pd.read_csv(newest(project / SWEEP / "table.csv")).set_index(["label", "metric"])
    expected = [seed["macro_f1"] for seed in single[2.0].values()]
    assert table.loc[("gamma = 2", "macro_f1"), "mean"] == pytest.approx(sum(expected) / 2)


@pytest.mark.slow
def test_focal_loss_without_focus_has_the_results_of_the_baseline(swept):
    jobs = {job["label"]: job for job in read_json(swept[0] / SWEEP / "results.json")["jobs"]}
    scores = [
        jobs[label]["metrics"][loss]
        for label, loss in (("baseline", "bce"), ("gamma = 0", "focal"))
    ]
    assert [seed["macro_f1"] for seed in scores[0].values()] == pytest.approx(
        [seed["macro_f1"] for seed in scores[1].values()]
    )


@pytest.mark.slow
def test_repeated_sweep_trains_nothing(swept):
    _, first, (again, trained, trained_again), _ = swept
    assert again.exit_code == 0, again.output
    assert trained == trained_again
    assert "3 jobs, 0 trainings; time: none, workers: 1" in again.stdout
    tables = [
        done.stdout[done.stdout.index("| macro-F1") :].split("\n\n")[0] for done in (first, again)
    ]
    assert tables[0] == tables[1]


@pytest.mark.slow
def test_runs_are_tagged_with_sweep_and_point_and_the_last_keeps_the_table(swept):
    client = MlflowClient(f"sqlite:///{swept[0]}/mlflow.db")
    experiment = client.get_experiment_by_name("losslab")
    runs = client.search_runs([experiment.experiment_id], order_by=["attributes.start_time ASC"])
    parents = [run for run in runs if "mlflow.parentRunId" not in run.data.tags][:4]
    tags = [(run.data.tags["sweep"], run.data.tags["point"]) for run in parents]
    points = ("baseline", "gamma = 0", "gamma = 2", "all")
    assert tags == [("gamma", point) for point in points]
    kept = {file.path for file in client.list_artifacts(parents[3].info.run_id)}
    assert kept == {"sweep.html", "sweep.csv"}
    children = [
        run for run in runs if run.data.tags.get("point") == "gamma = 2" and "loss" in run.data.tags
    ]
    assert children[0].data.params["loss_options.gamma"] == "2.0"
    assert not [name for name in children[0].data.params if name.startswith("sweep")]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gama"], "unknown sweep 'gama'; did you mean 'gamma'?"),
        (["gamma", "--losses=dbb"], "unknown loss 'dbb'; did you mean 'db'?"),
        (
            ["gamma", "--losses=asl"],
            "gamma, gamma = 0: unknown parameter 'asl_loss.gamma'; did you",
        ),
        (["gamma", "--params=focal_loss.gamma=1"], "focal_loss.gamma is set by the sweep gamma"),
        (["gamma", "--params=sweeps.gamma.grid.loss.gamma=[]"], "parameter 'sweeps.gamma.grid': "),
        (
            ["gamma", "--params=sweeps.gamma.grid.sede=[1]"],
            "gamma, gamma = 0: unknown parameter 'sede'",
        ),
        (["gamma", "--params=sweeps.gamma.grid.seed=[-1]"], "gamma, gamma = 0: parameter 'seed': "),
        (["gamma", "--params=sweeps.gamma.metric=macro"], "unknown sweeps.gamma.metric 'macro'"),
        (["gamma", "--pipelines=data"], "--pipelines does not go with sweep, which runs every job"),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else "",
)
def test_mistake_is_told_in_one_line_before_any_job(project, invoke, calls, words, message):
    write_sweeps(project)
    done = invoke("sweep", *words, "--env=test")
    assert done.exit_code == 1
    assert done.stderr.strip().splitlines()[-1].startswith(f"Error: {message}")
    assert calls == []


def test_value_out_of_bounds_is_told_before_any_job(project, invoke, calls):
    write_sweeps(project, GAMMA.replace("2.0", "-2.0"))
    done = invoke("sweep", "gamma", "--env=test")
    assert done.exit_code == 1
    assert done.stderr.strip().startswith("Error: gamma, gamma = -2: parameter 'focal_loss.gamma'")
    assert calls == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 30}, "label 'a' has 20 training documents: undersample.size 30 removes none"),
        ({"ratio": 50}, "label 'a' has 20 training documents: undersample.ratio 50 leaves less"),
        ({"labels": ["b"], "size": 80}, "label 'b' has 70 training"),
        ({"keep": ["a"], "ratio": 70}, None),
        ({"labels": ["a"], "size": 20}, None),
    ],
)
def test_label_too_small_to_undersample_is_named(settings, message):
    defaults = {"labels": None, "keep": [], "size": None, "ratio": None}
    if message is None:
        refuse_small_labels({**defaults, **settings}, {"a": 20, "b": 70})
    else:
        with pytest.raises(ParameterError, match=message):
            refuse_small_labels({**defaults, **settings}, {"a": 20, "b": 70})


@pytest.mark.slow
def test_each_label_is_expanded_after_the_corpus_was_read(project, invoke):
    each = "undersample.labels: each_label, undersample.size: [3]"
    write_sweeps(project, GAMMA.replace("loss.gamma: [0.0, 2.0]", each))
    done = invoke("sweep", "gamma", "--env=test", "--dry-run")
    assert done.exit_code == 0, done.output
    listed = [
        line.split("  ")[0] for line in done.stdout.splitlines() if line.startswith("labels =")
    ]
    labels = read_json(project / "data/03_primary/cwe/label_space.json")
    assert listed == [f"labels = {label}" for label in labels]
    assert not (project / "data/06_models").exists()
    write_sweeps(project, GAMMA.replace("loss.gamma: [0.0, 2.0]", each.replace("3", "3000")))
    done = invoke("sweep", "gamma", "--env=test", "--dry-run")
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(f"Error: gamma, labels = {labels[0]}: label '{labels[0]}' has ")


def test_without_a_name_the_sweeps_are_listed(project, invoke):
    write_sweeps(project)
    done = invoke("sweep", "--env=test")
    assert done.exit_code == 0, done.output
    rows = dict(line.split("  ", 1) for line in done.stdout.splitlines() if "  " in line)
    assert rows["gamma"].strip() == "Focusing parameter"
    assert "mask_rate" in rows


@pytest.mark.slow
def test_failed_job_is_listed_and_the_others_finish(project, invoke, monkeypatch):
    write_sweeps(project)
    original = kedro_run.callback

    def run(**options):
        if options["params"].get("focal_loss") == {"gamma": 0.0}:
            raise NonFiniteLossError("loss focal, seed 1: NaN at step 7")
        return original(**options)

    monkeypatch.setattr(kedro_run, "callback", run)
    done = invoke("sweep", "gamma", "--env=test", "--workers=1")
    assert done.exit_code == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last == "Error: gamma = 0: loss focal, seed 1: NaN at step 7"
    jobs = {job["label"]: job for job in read_json(project / SWEEP / "results.json")["jobs"]}
    assert {label for label, job in jobs.items() if job["metrics"]} == {"baseline", "gamma = 2"}
    assert jobs["gamma = 0"]["failed"] == "loss focal, seed 1: NaN at step 7"
    page = (project / SWEEP / "latest.html").read_text()
    assert "<b>gamma = 0</b> failed: loss focal, seed 1: NaN at step 7" in page


@pytest.mark.slow
def test_time_is_estimated_by_the_last_training_of_each_loss(project, invoke):
    write_sweeps(project)
    words = ("--env=test", "--workers=1")
    assert invoke("run", "--pipelines=focal_loss", *words).exit_code == 0
    histories = project / "data/06_models/cwe/probe/focal_loss/history.parquet"
    seconds = pd.read_parquet(newest(histories))["train_seconds"].max()
    done = invoke("sweep", "gamma", "--dry-run", "--losses=focal", *words)
    rows = {line.split("  ")[0]: line.split()[-2:] for line in done.stdout.splitlines()}
    assert rows["gamma = 0"] == [f"{seconds:.0f}", "s"]
    assert rows["gamma = 2"][-1] == "none"
    assert rows["baseline"][-1] == "unknown"
