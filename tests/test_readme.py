"""The README says what a run gave: tables, counts and commands."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from conftest import make_project, read_json, runner_in

from losslab.losses import LOSSES
from losslab.parameters import losses_for_task

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import readme  # noqa: E402
import results as collected  # noqa: E402

OLD, NEW = "2026-01-01T10.00.00.000Z", "2026-01-02T10.00.00.000Z"
MULTI = losses_for_task("multi")


def cell(value, p_holm=1.0):
    p = None if p_holm is None else p_holm / 10
    return {"value": value, "low": value - 0.05, "high": value + 0.05, "p": p, "p_holm": p_holm}


def write(folder, version, content):
    file = folder / version / folder.name
    file.parent.mkdir(parents=True)
    if isinstance(content, pd.DataFrame):
        save = content.to_csv if file.suffix == ".csv" else content.to_parquet
        save(file, index=False)
    else:
        file.write_text(content if isinstance(content, str) else json.dumps(content))


def write_report(data, version, *, losses=MULTI, seeds=1, differs=None):
    """A made-up report: macro-F1 falls by 0.01 from loss to loss; the last is significantly worse."""
    folder = data / "08_reporting" / "cwe" / "probe"
    values = {loss: 0.5 - 0.01 * i for i, loss in enumerate(losses)}
    write(
        folder / "comparison.csv",
        version,
        pd.DataFrame(
            {"loss": losses[::-1], "seeds": seeds, "best_epoch": 12.0, "differs": differs},
        ),
    )
    p_holm = {losses[0]: None, losses[-1]: 0.01}
    metrics = {
        loss: {name: cell(value, p_holm.get(loss, 1.0)) for name in readme.METRICS}
        for loss, value in values.items()
    }
    settings = {"reference": losses[0], "resamples": 200, "confidence": 0.95, "seed": 0}
    write(folder / "uncertainty.json", version, {**settings, "losses": metrics})
    run = {"command": "kedro run", "commit": "0123456789", "dirty": False}
    write(folder / "run_description.json", version, {**run, "versions": {"torch": "9.9"}})
    epochs = [{"loss": loss, "epoch": e, "minutes": e / 60} for loss in losses for e in (1, 2)]
    write(folder / "training_table.parquet", version, pd.DataFrame(epochs))
    write(folder / "report.html", version, "<html>")
    return folder


@pytest.fixture
def run(tmp_path):
    sizes = pd.DataFrame({"split": ["all", "train", "test"], "instances": [90, 60, 17]})
    write(tmp_path / "data/03_primary/cwe/corpus_table.csv", NEW, sizes)
    write_report(tmp_path / "data", OLD, losses=MULTI[:1])
    return write_report(tmp_path / "data", NEW)


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """The README and its results, to be changed."""
    monkeypatch.setattr(readme, "README", tmp_path / "README.md")
    monkeypatch.setattr(readme, "RESULTS", tmp_path / "results" / "cwe_probe.json")
    readme.RESULTS.parent.mkdir()
    shutil.copy(ROOT / "README.md", readme.README)
    shutil.copy(ROOT / "docs" / "results" / "cwe_probe.json", readme.RESULTS)
    return readme.README


@pytest.mark.slow
def test_the_readme_is_what_its_results_and_the_table_of_losses_give():
    command = [sys.executable, str(ROOT / "tools" / "readme.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_number_changed_by_hand_is_noticed(copy):
    assert readme.main(["--check"]) is None
    value = re.search(r"\| 0\.\d{3} \(", copy.read_text())[0]
    copy.write_text(copy.read_text().replace(value, "| 0.999 (", 1))
    assert "tools/readme.py" in readme.main(["--check"])


def test_results_that_the_readme_does_not_show_are_noticed(copy):
    results = json.loads(readme.RESULTS.read_text())
    results["losses"][0]["macro_f1"]["value"] += 0.01
    readme.RESULTS.write_text(json.dumps(results))
    assert readme.main(["--check"])
    assert readme.main([]) is None
    assert readme.main(["--check"]) is None


def show(results):
    readme.RESULTS.write_text(json.dumps(results))
    assert readme.main([]) is None


def test_a_run_gives_results_and_readme(copy, run):
    results = collected.summarize_run(run)
    show(results)
    assert results["version"] == NEW
    assert [row["loss"] for row in results["losses"]] == MULTI
    assert results["losses"][0]["macro_f1"] == {**cell(0.5, None), "low": 0.45, "high": 0.55}
    assert results["losses"][0]["seconds"] == 2.0
    assert results["test_documents"] == 17
    text = copy.read_text()
    assert f"| `{MULTI[0]}` | 0.500 (0.450 to 0.550)" in text
    assert "commit `0123456`, torch 9.9" in " ".join(text.split())
    assert readme.main(["--check"]) is None


def test_duration_is_from_the_version_to_the_saved_page(run):
    import os
    from datetime import UTC, datetime

    end = datetime(2026, 1, 2, 10, 4, 30, tzinfo=UTC).timestamp()
    os.utime(run / "report.html" / NEW / "report.html", (end, end))
    assert collected.summarize_run(run)["seconds"] == 270


def test_a_busy_machine_is_mentioned(copy, run):
    show(collected.summarize_run(run))
    times = re.compile(rf"\| `kedro run` \| \d+ \w+(.*?) \| {len(MULTI)} losses")
    assert times.search(copy.read_text())[1] == ""
    show(collected.summarize_run(run, busy=True))
    assert times.search(copy.read_text())[1] == ", on a busy machine"


def test_the_time_of_a_command_is_measured_and_shown(copy, monkeypatch):
    monkeypatch.setattr(readme, "TIMES", copy.with_name("times.json"))
    readme.main(["--time", f"{sys.executable} -c pass", "--about", "nothing"])
    (facts,) = json.loads(readme.TIMES.read_text()).values()
    assert facts["seconds"] < 60
    assert len(facts["commit"]) == 40
    assert re.search(r"-c pass` \| \d+ seconds \| nothing \|", copy.read_text())
    assert readme.main(["--check"]) is None


@pytest.mark.long
def test_the_answer_is_what_training_gives_today(tmp_path, mlflow_store):
    """Within what another processor's rounding may change."""
    project, recipes = make_project(tmp_path), "conf/base/parameters_training.yml"
    shutil.copy(ROOT / recipes, project / recipes)  # not the tests' short ones
    shutil.copy(mlflow_store, project)
    done = runner_in(project)("run", "--pipelines=bce_loss")
    assert done.returncode == 0, done.stderr
    metrics = read_json(project / "data/08_reporting/cwe/probe/bce_loss/metrics.json")
    rows = json.loads(readme.RESULTS.read_text(encoding="utf-8"))["losses"]
    shown = next(row for row in rows if row["loss"] == "bce")
    assert shown["seeds"] == len(metrics["seeds"])
    for name in readme.METRICS:
        assert metrics["mean"][name] == pytest.approx(shown[name]["value"], abs=0.03), name


@pytest.mark.parametrize("missing", ["uncertainty.json", "report.html", "training_table.parquet"])
def test_a_report_that_lacks_a_file_is_refused(run, missing):
    shutil.rmtree(run / missing / NEW)
    with pytest.raises(FileNotFoundError, match=rf"{missing}.* missing"):
        collected.summarize_run(run)


def test_a_folder_without_a_report_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="kedro run first"):
        collected.summarize_run(tmp_path)


def test_losses_under_other_conditions_are_refused(run):
    differs = ["seed is 2, expected 1", *[None] * (len(MULTI) - 1)]
    write_report(run.parents[2], "2026-01-03T10.00.00.000Z", differs=differs)
    with pytest.raises(ValueError, match=MULTI[-1]):
        collected.summarize_run(run)


def test_the_answer_has_the_best_and_the_reference_and_says_how_sure(run):
    results = collected.summarize_run(run)
    results["reference"] = MULTI[20]
    answer = " ".join(readme.answer(results).split())
    shown = re.findall(r"\| `(\w+)` \|", answer)
    assert shown == [*MULTI[:10], MULTI[20]]
    assert f"better than `{MULTI[20]}` (paired bootstrap, Holm): none" in answer
    assert f"significantly worse: `{MULTI[-1]}`." in answer
    assert "one seed" in answer


@pytest.mark.parametrize(("value", "verdict"), [(0.52, "has no higher value"), (0.4, "is above")])
def test_baselines_stand_beside_the_losses(run, value, verdict):
    table = run / "comparison.csv" / NEW / "comparison.csv"
    names = ["most_frequent", "svm", "powerset"]
    rows = pd.DataFrame({"loss": names, "macro_f1": [0.1, value, value - 0.01], "seeds": 1})
    pd.concat([pd.read_csv(table), rows]).to_csv(table, index=False)
    results = collected.summarize_run(run)
    assert {row["loss"] for row in results["losses"]} == set(MULTI)
    answer = " ".join(readme.answer(results).split())
    assert f"reach {value:.3f} (`svm`) and {value - 0.01:.3f} (`powerset`) macro-F1" in answer
    assert verdict in answer


def test_a_loss_that_had_not_learned_is_marked_and_never_called_worse(run):
    table = run / "comparison.csv" / NEW / "comparison.csv"
    comparison = pd.read_csv(table)
    untrained = comparison["loss"].isin([MULTI[1], MULTI[-1]])
    comparison.assign(mark=untrained.map({True: "stopped", False: ""})).to_csv(table, index=False)
    results = collected.summarize_run(run)
    assert {row["loss"] for row in results["losses"] if row["mark"]} == {MULTI[1], MULTI[-1]}
    answer = " ".join(readme.answer(results).split())
    assert f"| `{MULTI[1]}` \\* | 0.490" in answer
    assert "significantly worse: none." in answer
    assert f"not tested (\\*): `{MULTI[1]}`, `{MULTI[-1]}`." in answer
    results["reference"] = MULTI[1]
    assert "the reference did, so nothing is tested" in " ".join(readme.answer(results).split())


def test_several_seeds_are_not_called_one(tmp_path, run):
    results = collected.summarize_run(run)
    for row in results["losses"]:
        row["seeds"] = 3
    assert "3 seeds" in readme.answer(results)
    assert "ne seed" not in readme.answer(results)


def test_numbers_of_losses_are_those_of_the_table():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    counts = {int(number) for number in re.findall(r"(\d+) losses", text)}
    compared = len(json.loads(readme.RESULTS.read_text(encoding="utf-8"))["losses"])
    timed = re.findall(r"(\d+) losses", readme.TIMES.read_text(encoding="utf-8"))  # of their commit
    assert counts <= {len(LOSSES), len(MULTI), compared, *map(int, timed)}
    assert len(LOSSES) in counts


def test_every_loss_is_listed_under_its_family_with_its_paper():
    rows = dict(re.findall(r"^\| (\w+) \| (.*)$", readme.families(), flags=re.MULTILINE))
    for loss in LOSSES.values():
        assert f"[`{loss.name}`]" in rows[loss.family]
        assert all(paper in rows[loss.family] for paper in readme.cited(loss.paper))


def test_a_readme_without_a_block_is_refused():
    results = json.loads((ROOT / "docs" / "results" / "cwe_probe.json").read_text())
    with pytest.raises(ValueError, match="costs"):
        readme.render("<!-- answer -->\n<!-- /answer -->", results)
