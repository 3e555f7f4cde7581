"""The nodes over the folds of one cross-validation."""

import pytest

from losslab.errors import IncomparableError
from losslab.parameters import SplitSettings
from losslab.pipelines.cross_validation import nodes
from losslab.reporting.definitions import METRICS

from .small_data import REPORT

SPLIT = SplitSettings(
    by="hash", validation=0.25, test=0.25, group_separator=None, folds=2, fold=1, seed=0
)
LOSSES = ["bce", "db"]


def result(value, fold, text="t"):
    conditions = {
        "dataset": "cwe",
        "recipe": {"name": "probe"},
        "split": {"folds": 2, "fold": fold},
        "seeds": ["1"],
        "data": {"text": text, "split": str(fold)},
    }
    return {"mean": dict.fromkeys(METRICS, value), "conditions": conditions, "options": {}}


def folds(bce=(0.51, 0.52), db=(0.62, 0.64)):
    return {
        loss: {fold: result(value, fold) for fold, value in enumerate(values, 1)}
        for loss, values in {"bce": bce, "db": db}.items()
    }


def compare(fold_metrics, losses=LOSSES, split=SPLIT):
    return nodes.compare_folds(fold_metrics, split, losses, "multi", REPORT)


def test_folds_are_compared_with_the_reference():
    scores, table, conditions = compare(folds())
    row = table[(table["loss"] == "db") & (table["metric"] == "macro_f1")].iloc[0]
    assert (row["folds"], round(row["difference"], 6)) == (2, 0.115)
    assert set(table["metric"]) == set(METRICS)
    assert len(scores) == len(METRICS) * 2 * 2
    assert conditions["split"] == {"folds": 2}


def test_losses_that_were_not_chosen_are_left_out():
    found = folds()
    found["focal"] = {1: result(0.9, 1, text="other")}
    _, table, _ = compare(found)
    assert set(table["loss"]) == {"bce", "db"}


def test_without_a_choice_every_loss_of_the_task_is_expected(caplog):
    _, table, _ = compare(folds(), losses=None)
    assert {"bce", "db", "zlpr"} < set(table["loss"])
    assert "ce" not in set(table["loss"])
    assert "zlpr: no result of fold 1, 2" in caplog.messages


def test_missing_fold_of_a_loss_is_named(caplog):
    _, table, _ = compare(folds(db=(0.62,)))
    assert "db: no result of fold 2" in caplog.messages
    row = table[(table["loss"] == "db") & (table["metric"] == "macro_f1")].iloc[0]
    assert row["missing_folds"] == "2"


def test_folds_whose_data_differ_are_refused():
    found = folds()
    found["db"][2] = result(0.6, 2, text="other")
    with pytest.raises(IncomparableError, match=r"db, fold 2: data\.text is other, expected t"):
        compare(found)


def test_reference_without_a_fold_is_named():
    with pytest.raises(IncomparableError, match="the reference bce has no result in any of 2"):
        compare({"db": folds()["db"]})


def test_without_folds_the_command_is_told():
    with pytest.raises(IncomparableError, match="kedro cross-validate trains and compares them"):
        compare({}, split=SPLIT.model_copy(update={"folds": None}))


def test_page_is_of_the_recorded_conditions():
    scores, table, conditions = compare(folds())
    figure = nodes.draw_folds(scores, table)
    page = nodes.render_page(table, figure, conditions, {"command": "kedro x"}, REPORT)
    assert "2-fold cross-validation on cwe" in page
    assert "kedro x" in page
