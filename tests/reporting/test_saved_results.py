import json

import pandas as pd
import pytest

from losslab.parameters import ReportSettings
from losslab.pipelines.meta_analysis.nodes import combine_datasets, combine_folds
from losslab.reporting.definitions import METRICS
from losslab.reporting.saved_results import saved_comparisons, saved_folds, saved_results

REPORT = ReportSettings(
    reference="bce", resamples=100, confidence=0.95, seed=0, on_mismatch="refuse"
)


@pytest.fixture
def save(tmp_path):
    """Save the metrics of a loss as a run would, a version later each time."""
    count = 0

    def save(value, *, loss="bce", fold=None, folds=2, options=None, folder="trec", **conditions):
        nonlocal count
        count += 1
        known = {
            "dataset": folder.partition("-")[0],
            "recipe": {"name": "probe"},
            "split": {"folds": folds if fold else None, "fold": fold or 1},
            "data": {"split": str(count)},
            **conditions,
        }
        place = tmp_path / folder / "probe" / f"{loss}_loss" / "metrics.json" / f"2026-{count:02}"
        place.mkdir(parents=True)
        mean = dict.fromkeys(METRICS, value)
        content = {"mean": mean, "conditions": known, "options": options or {}}
        (place / "metrics.json").write_text(json.dumps(content))

    def save_report(folder="trec", **losses):
        """Save a comparison of the version last saved; ``losses``: value and what differs."""
        place = tmp_path / folder / "probe" / "comparison.csv" / f"2026-{count:02}"
        place.mkdir(parents=True)
        rows = [
            {"loss": loss, **dict.fromkeys(METRICS, value), "differs": differs}
            for loss, (value, differs) in losses.items()
        ]
        pd.DataFrame(rows).to_csv(place / "comparison.csv", index=False)

    save.report = save_report
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


def run(save, value, *, reference=0.5, folder="trec", differs=None, **conditions):
    """Results and report of bce and db."""
    save(reference, folder=folder, **conditions)
    save(value, loss="db", folder=folder, **conditions)
    save.report(folder, bce=(reference, None), db=(value, differs))


def macro_f1(folder):
    return {
        name: {loss: metrics["macro_f1"] for loss, metrics in comparison.items()}
        for name, comparison in saved_comparisons(folder).items()
    }


def test_ranks_over_datasets_take_the_newest_reports_without_incomparable_losses(save, tmp_path):
    run(save, 0.9)
    run(save, 0.4)
    run(save, 0.9, folder="cwe", differs="seeds")
    assert macro_f1(tmp_path) == {"cwe/probe": {"bce": 0.5}, "trec/probe": {"bce": 0.5, "db": 0.4}}
    table = combine_datasets(tmp_path)
    best = table[(table["metric"] == "macro_f1") & (table["loss"] == "bce")].iloc[0]
    assert (best["mean_rank"], best["times_best"], best["comparisons"]) == (1.0, 2, 2)


@pytest.mark.parametrize("other", [{"fold": 2}, {"undersample": {"ratio": 100}}])
def test_a_single_fold_or_an_undersampled_corpus_does_not_enter_ranks_over_datasets(
    save, tmp_path, other
):
    run(save, 0.4)
    run(save, 0.9, **other)
    run(save, 0.9, folder="cwe", **other)
    assert macro_f1(tmp_path) == {"trec/probe": {"bce": 0.5, "db": 0.4}}


def test_a_report_of_older_results_is_known_by_those_results(save, tmp_path):
    run(save, 0.4)
    save(0.9, loss="db", fold=1)
    save(0.9, loss="focal")
    save.report(bce=(0.5, None), db=(0.9, None))  # made of the fold, which was the newest
    assert macro_f1(tmp_path) == {"trec/probe": {"bce": 0.5, "db": 0.4}}


def test_a_variant_is_a_comparison_of_its_own(save, tmp_path):
    run(save, 0.4)
    run(save, 0.6, folder="trec-raw")
    assert macro_f1(tmp_path) == {
        "trec-raw/probe": {"bce": 0.5, "db": 0.6},
        "trec/probe": {"bce": 0.5, "db": 0.4},
    }


def test_dataset_and_recipe_are_those_recorded_not_the_folder_names(save, tmp_path):
    save(0.4, folder="trec-raw")
    save(0.5)
    plain, variant = saved_results(tmp_path)
    assert {(saved.dataset, saved.recipe) for saved in (variant, plain)} == {("trec", "probe")}
    assert (plain.is_variant, variant.is_variant) == (False, True)


def test_results_of_an_earlier_version_are_named_and_left_out(save, tmp_path, caplog):
    save(0.4, recipe="probe")
    assert list(saved_results(tmp_path)) == []
    assert "trec/probe/bce_loss/metrics.json/2026-01/metrics.json is left out" in caplog.text


def test_nothing_to_combine_is_told(tmp_path, caplog):
    assert combine_datasets(tmp_path).empty
    assert combine_folds(tmp_path, REPORT).empty
    assert "no reports yet" in caplog.text
