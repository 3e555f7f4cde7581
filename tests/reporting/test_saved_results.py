import json

import pandas as pd
import pytest

from losslab.parameters import ReportSettings
from losslab.pipelines.meta_analysis.nodes import combine_datasets, combine_folds
from losslab.reporting.definitions import METRICS
from losslab.reporting.saved_results import saved_comparisons, saved_folds

REPORT = ReportSettings(
    reference="bce", resamples=100, confidence=0.95, seed=0, on_mismatch="refuse"
)


@pytest.fixture
def save(tmp_path):
    """Save the metrics of a loss as a run would, a version later each time."""
    count = 0

    def save(value, *, loss="bce", fold=None, folds=2, options=None, **conditions):
        nonlocal count
        count += 1
        split = {"folds": folds if fold else None, "fold": fold or 1}
        known = {"recipe": "probe", "split": split, "data": {"split": str(count)}, **conditions}
        file = tmp_path / f"trec/probe/{loss}_loss/metrics.json/2026-{count:02}/metrics.json"
        file.parent.mkdir(parents=True)
        mean = dict.fromkeys(METRICS, value)
        content = {"mean": mean, "conditions": known, "options": options or {}}
        file.write_text(json.dumps(content))

    return save


def test_folds_of_a_cross_validation_are_found_and_others_left_out(save, tmp_path):
    for fold in (1, 2):
        save(fold / 10, fold=fold)
    save(0.9)
    (found,) = saved_folds(tmp_path)
    assert (found.dataset, found.recipe, found.folds) == ("trec", "probe", 2)
    assert {f: figures["macro_f1"] for f, figures in found.results["bce"].items()} == {
        1: 0.1,
        2: 0.2,
    }


def test_of_a_fold_that_ran_twice_the_newest_counts(save, tmp_path):
    for value in (0.1, 0.3):
        save(value, fold=1)
    (found,) = saved_folds(tmp_path)
    assert found.results["bce"][1]["macro_f1"] == 0.3


def test_other_conditions_are_another_cross_validation(save, tmp_path):
    save(0.1, fold=1, seeds=["1"])
    save(0.2, fold=2, seeds=["1", "2"])
    (found,) = saved_folds(tmp_path)
    assert list(found.results["bce"]) == [2]


def test_folds_of_a_loss_have_its_newest_options(save, tmp_path):
    save(0.1, fold=1, options={"gamma": 1})
    save(0.2, fold=2, options={"gamma": 2})
    (found,) = saved_folds(tmp_path)
    assert list(found.results["bce"]) == [2]


def test_table_over_folds_has_every_metric_and_the_p_of_complete_losses(save, tmp_path):
    for fold in (1, 2):
        save(0.1 * fold, fold=fold)
        save(0.15 * fold, loss="db", fold=fold)
    save(0.2, loss="focal", fold=1)
    table = combine_folds(tmp_path, REPORT)
    assert set(table["metric"]) == set(METRICS)
    macro = table[table["metric"] == "macro_f1"].set_index("loss")
    assert macro["p"].notna().to_dict() == {"db": True, "focal": False, "bce": False}
    assert set(macro["dataset"]) == {"trec"}


def test_folds_without_the_reference_are_told_and_left_out(save, tmp_path, caplog):
    save(0.2, loss="db", fold=1)
    assert combine_folds(tmp_path, REPORT).empty
    assert "no fold of bce" in caplog.text


def test_ranks_over_datasets_take_the_newest_reports_without_marked_losses(tmp_path, caplog):
    def save(dataset, version, **rows):
        file = tmp_path / f"{dataset}/probe/comparison.csv/{version}/comparison.csv"
        file.parent.mkdir(parents=True)
        values = [
            {"loss": loss, **dict.fromkeys(METRICS, value), "differs": differs}
            for loss, (value, differs) in rows.items()
        ]
        pd.DataFrame(values).to_csv(file, index=False)

    save("trec", "2026-01", bce=(0.1, None), db=(0.9, None))
    save("trec", "2026-02", bce=(0.5, None), db=(0.4, None))
    save("cwe", "2026-01", bce=(0.3, None), db=(0.2, None), zlpr=(0.9, "seeds"))
    assert {name: set(found) for name, found in saved_comparisons(tmp_path).items()} == {
        "cwe/probe": {"bce", "db"},
        "trec/probe": {"bce", "db"},
    }
    table = combine_datasets(tmp_path)
    best = table[(table["metric"] == "macro_f1") & (table["loss"] == "bce")].iloc[0]
    assert (best["mean_rank"], best["times_best"], best["comparisons"]) == (1.0, 2, 2)


def test_nothing_to_combine_is_told(tmp_path, caplog):
    assert combine_datasets(tmp_path).empty
    assert combine_folds(tmp_path, REPORT).empty
    assert "no reports yet" in caplog.text
