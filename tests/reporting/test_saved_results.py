import json

import pandas as pd
import pytest

from losslab.manifest import Manifest, hash_file
from losslab.pipelines.meta_analysis.nodes import combine_datasets
from losslab.reporting.definitions import METRICS
from losslab.reporting.saved_results import saved_comparisons, saved_results


def vouch_for(file):
    """Write a manifest for a file, as a run would."""
    Manifest(hash_file(file), file.stat().st_size).write(file)


@pytest.fixture
def save(tmp_path):
    """Save the metrics of a loss as a run would, a version later each time."""
    count = 0

    def save(value, *, loss="bce", fold=None, folder="trec", **conditions):
        nonlocal count
        count += 1
        known = {
            "dataset": folder.partition("-")[0],
            "recipe": {"name": "probe"},
            "split": {"folds": 2 if fold else None, "fold": fold or 1},
            "data": {"split": str(count)},
            **conditions,
        }
        place = tmp_path / folder / "probe" / f"{loss}_loss" / "metrics.json" / f"2026-{count:02}"
        place.mkdir(parents=True)
        mean = dict.fromkeys(METRICS, value)
        content = {"mean": mean, "conditions": known, "options": {}}
        (place / "metrics.json").write_text(json.dumps(content))
        vouch_for(place / "metrics.json")

    def save_report(folder="trec", **losses):
        """Save a comparison of the version last saved; ``losses``: value and what differs."""
        place = tmp_path / folder / "probe" / "comparison.csv" / f"2026-{count:02}"
        place.mkdir(parents=True)
        rows = [
            {"loss": loss, **dict.fromkeys(METRICS, value), "differs": differs}
            for loss, (value, differs) in losses.items()
        ]
        pd.DataFrame(rows).to_csv(place / "comparison.csv", index=False)
        vouch_for(place / "comparison.csv")

    save.report = save_report
    return save


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


def test_damaged_results_and_reports_are_passed_over(save, tmp_path, caplog):
    run(save, 0.4)
    run(save, 0.9)
    newest = max(tmp_path.glob("trec/probe/comparison.csv/*/comparison.csv"))
    newest.write_text(newest.read_text().replace("0.9", "0.1"))
    old = min(tmp_path.glob("trec/probe/db_loss/metrics.json/*/metrics.json"))
    old.write_text("{")
    assert macro_f1(tmp_path) == {}
    assert f"passed over: {newest} is broken" in caplog.text
    assert len(list(saved_results(tmp_path))) == 3


def test_ranks_over_datasets_take_the_newest_reports_without_incomparable_losses(save, tmp_path):
    run(save, 0.9)
    run(save, 0.4)
    run(save, 0.9, folder="cwe", differs="seeds")
    assert macro_f1(tmp_path) == {"cwe/probe": {"bce": 0.5}, "trec/probe": {"bce": 0.5, "db": 0.4}}
    table = combine_datasets(tmp_path)
    best = table[(table["metric"] == "macro_f1") & (table["loss"] == "bce")].iloc[0]
    assert (best["mean_rank"], best["times_best"], best["comparisons"]) == (1.0, 2, 2)


def test_losses_that_had_not_learned_do_not_enter_ranks_over_datasets(save, tmp_path):
    run(save, 0.4)
    (file,) = tmp_path.glob("trec/probe/comparison.csv/*/comparison.csv")
    table = pd.read_csv(file)
    table.assign(mark=["", "stopped before it had learned"]).to_csv(file, index=False)
    vouch_for(file)
    assert macro_f1(tmp_path) == {"trec/probe": {"bce": 0.5}}


@pytest.mark.parametrize("other", [{"fold": 2}, {"undersample": {"ratio": 100}}, {"sample": True}])
def test_a_single_fold_a_sample_or_an_undersampled_corpus_does_not_enter_ranks_over_datasets(
    save, tmp_path, other
):
    run(save, 0.4)
    run(save, 0.9, **other)
    run(save, 0.9, folder="cwe", **other)
    assert macro_f1(tmp_path) == {"trec/probe": {"bce": 0.5, "db": 0.4}}


def test_folders_of_folds_are_not_searched(save, tmp_path):
    run(save, 0.4)
    run(save, 0.9, folder="trec-folds=2/fold=1")
    assert macro_f1(tmp_path) == {"trec/probe": {"bce": 0.5, "db": 0.4}}
    assert {saved.folder.parent.name for saved in saved_results(tmp_path)} == {"trec"}


def test_a_report_of_older_results_is_known_by_those_results(save, tmp_path):
    run(save, 0.4)
    save(0.9, loss="db", fold=1)
    save(0.9, loss="focal")
    save.report(bce=(0.5, None), db=(0.9, None))  # made of the fold, which was the newest
    assert macro_f1(tmp_path) == {"trec/probe": {"bce": 0.5, "db": 0.4}}


@pytest.mark.parametrize("other", [{"folder": "trec-raw"}, {"recipe": {"name": "lstm"}}])
def test_a_variant_of_a_dataset_or_recipe_does_not_enter_ranks_over_datasets(save, tmp_path, other):
    run(save, 0.4)
    run(save, 0.6, **other)
    assert macro_f1(tmp_path) == {"trec/probe": {"bce": 0.5, "db": 0.4}}


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
    assert "no reports yet" in caplog.text


def test_references_of_retrieval_are_no_results_of_a_loss(save, tmp_path):
    save(0.5, loss="kwls", folder="squad")
    place = tmp_path / "squad/probe/bm25_reference/metrics.json/2026-01"
    place.mkdir(parents=True)
    (place / "metrics.json").write_text(json.dumps({"mean": {"mrr": 0.8}, "split": "test"}))
    vouch_for(place / "metrics.json")
    assert [saved.loss for saved in saved_results(tmp_path)] == ["kwls"]
