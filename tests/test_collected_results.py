"""What docs/results keeps of runs."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from reporting.test_paper_tables import save
from test_readme import MULTI, NEW, write, write_report

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import results  # noqa: E402

from losslab.errors import LosslabError  # noqa: E402
from losslab.parameters import losses_for_task  # noqa: E402

CWE = results.Run("cwe", "probe", 1)


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A made-up report of two losses, and the metrics it was made of."""
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    (tmp_path / "results").mkdir()
    report = write_report(tmp_path / "data", NEW, losses=MULTI[:2], seeds=3)
    sizes = "split,instances\nall,90\ntrain,60\nvalidation,13\ntest,17\n"
    write(tmp_path / "data/03_primary/cwe/corpus_table.csv", NEW, sizes)
    for loss, value in zip(MULTI[:2], (0.5, 0.49), strict=True):
        mean = {"micro_f1": value, "macro_f1": value, "coverage": 1.0}
        conditions = {"dataset": "cwe", "recipe": {"name": "probe"}, "split": {}}
        saved = {"mean": mean, "std": {"macro_f1": 0.01}, "seeds": {"1": {}, "2": {}, "3": {}}}
        saved |= {"conditions": conditions, "fingerprint": "f"}
        save(report / f"{loss}_loss", "metrics.json", NEW, saved, commit="0123456789")
    return tmp_path / "data"


def test_a_run_is_kept_with_what_the_papers_tables_need(data):
    kept = results.collect(CWE, data)
    assert [row["loss"] for row in kept["losses"]] == MULTI[:2]
    assert kept["documents"] == "60 / 13 / 17"
    assert kept["papers"][MULTI[0]] == {
        "metrics": {"micro_f1": 0.5, "macro_f1": 0.5},
        "std": {"macro_f1": 0.01},
        "seeds": 3,
        "commit": "0123456789",
        "conditions": "f",
    }


def test_metrics_of_a_later_training_are_refused(data):
    report = data / "08_reporting/cwe/probe"
    newer = json.loads(next((report / f"{MULTI[1]}_loss").rglob("*/metrics.json")).read_text())
    newer["mean"]["macro_f1"] = 0.9
    save(report / f"{MULTI[1]}_loss", "metrics.json", "2027-01-01", newer)
    with pytest.raises(LosslabError, match=f"{MULTI[1]} was trained again"):
        results.collect(CWE, data)


def test_what_is_missing_is_listed_with_its_time(data):
    asked = replace(CWE, losses=tuple(MULTI[:2]))
    runs = {"cwe_probe": asked, "sst5_probe": results.Run("sst5", "probe", 90)}
    asked.file.write_text(json.dumps(results.collect(asked, data)))
    assert [line.split(maxsplit=1)[1] for line in results.overview(runs)] == [
        "there",
        "missing: all (90 min)",
        "do: 1.5 hours on two cores",
    ]
    more = replace(asked, losses=(*asked.losses, "zlpr"))
    assert more.missing() == "zlpr"
    few = json.loads(asked.file.read_text())
    few["losses"][0]["seeds"] = 1
    asked.file.write_text(json.dumps(few))
    assert asked.missing() == f"seeds of {MULTI[0]}"


def test_every_run_of_the_list_is_a_dataset_with_losses_of_its_task():
    recipes = {"probe", "hybrid", "textcnn", "lstm", "minilm"}
    for run in results.read_runs(ROOT / "docs/results/runs.yml").values():
        assert (ROOT / f"conf/datasets/{run.dataset}.yml").is_file()
        assert run.recipe in recipes
        single = "task: single" in (ROOT / f"conf/datasets/{run.dataset}.yml").read_text()
        assert set(run.losses) <= set(losses_for_task("single" if single else "multi"))
