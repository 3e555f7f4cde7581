import copy

import numpy as np
import pytest
from scipy.stats import ttest_1samp, ttest_rel

from losslab.errors import IncomparableError
from losslab.evaluation import compare_folds, fold_marks, refuse_mixed_folds, tabulate_folds

BCE = {1: 0.50, 2: 0.52, 3: 0.47, 4: 0.51}
DB = {1: 0.55, 2: 0.54, 3: 0.53, 4: 0.56}


def results(**losses):
    return {
        loss: {
            fold: {"macro_f1": value, "ranking_loss": 1 - value} for fold, value in folds.items()
        }
        for loss, folds in losses.items()
    }


def rows(table, metric="macro_f1"):
    return table[table["metric"] == metric].set_index("loss")


def test_differences_are_paired_by_fold():
    table = rows(compare_folds(results(bce=BCE, db=DB), ["macro_f1"], reference="bce", folds=4))
    differences = np.array([DB[fold] - BCE[fold] for fold in BCE])
    assert table.loc["db", "difference"] == pytest.approx(differences.mean())
    assert table.loc["db", "p"] == pytest.approx(ttest_1samp(differences, 0).pvalue)
    assert table.loc["db", "std"] == pytest.approx(np.std(list(DB.values()), ddof=1))
    assert table.loc["bce", ["difference", "p", "p_holm"]].isna().all()


def test_p_is_corrected_over_the_losses():
    found = results(bce=BCE, db=DB, focal={f: v + 0.01 * f for f, v in BCE.items()})
    table = rows(compare_folds(found, ["macro_f1"], reference="bce", folds=4))
    smaller, larger = table["p"].dropna().sort_values()
    assert table["p_holm"].dropna().min() == pytest.approx(2 * smaller)
    assert table["p_holm"].dropna().max() == pytest.approx(max(2 * smaller, larger))


def test_a_missing_fold_leaves_the_loss_unjudged():
    found = results(bce=BCE, db={fold: DB[fold] for fold in (1, 2, 4)})
    db = rows(compare_folds(found, ["macro_f1"], reference="bce", folds=4)).loc["db"]
    assert (db["folds"], db["difference"]) == (3, pytest.approx((0.05 + 0.02 + 0.05) / 3))
    assert db["missing_folds"] == "3"
    assert np.isnan(db["p"])


def test_a_loss_without_any_fold_is_the_last_row():
    table = compare_folds(results(db={}, bce=BCE), ["macro_f1"], reference="bce", folds=4)
    assert table["loss"].tolist() == ["bce", "db"]
    last = table.iloc[1]
    assert (last["folds"], last["missing_folds"]) == (0, "1, 2, 3, 4")
    assert last[["mean", "std", "difference", "p", "p_holm"]].isna().all()


def test_equal_losses_do_not_differ():
    table = rows(compare_folds(results(bce=BCE, a=BCE), ["macro_f1"], reference="bce", folds=4))
    assert (table.loc["a", "difference"], table.loc["a", "p_holm"]) == (0.0, 1.0)


def test_best_comes_first_also_where_less_is_better():
    table = compare_folds(
        results(bce=BCE, db=DB), ["macro_f1", "ranking_loss"], reference="bce", folds=4
    )
    assert table["loss"].tolist() == ["db", "bce", "db", "bce"]


def test_table_is_what_a_slow_computation_gives():
    draw = np.random.default_rng(4)
    names, metrics = ["bce", "db", "focal", "zlpr", "asl"], ["macro_f1", "micro_f1"]
    found = {
        loss: {fold: {name: draw.uniform() for name in metrics} for fold in range(1, 6)}
        for loss in names
    }
    table = compare_folds(found, metrics, reference="bce", folds=5)
    for metric in metrics:
        values = {loss: [found[loss][fold][metric] for fold in range(1, 6)] for loss in names}
        p = {loss: ttest_rel(values[loss], values["bce"]).pvalue for loss in names[1:]}
        corrected, largest = {}, 0.0
        for place, loss in enumerate(sorted(p, key=p.get)):
            largest = corrected[loss] = max(largest, min(1.0, (len(p) - place) * p[loss]))
        told = rows(table, metric)
        assert list(told.index) == sorted(names, key=lambda loss: -np.mean(values[loss]))
        for loss in names[1:]:
            difference = np.mean(np.subtract(values[loss], values["bce"]))
            expected = [np.mean(values[loss]), np.std(values[loss], ddof=1), difference, p[loss]]
            row = told.loc[loss, ["mean", "std", "difference", "p", "p_holm"]].tolist()
            assert row == pytest.approx([*expected, corrected[loss]])


def test_scores_have_a_row_per_metric_loss_and_fold():
    table = tabulate_folds(results(bce=BCE, db={2: 0.5}), ["macro_f1", "ranking_loss"])
    assert len(table) == 2 * (4 + 1)
    row = table[(table["loss"] == "db") & (table["metric"] == "ranking_loss")].iloc[0]
    assert (row["fold"], row["value"]) == (2, 0.5)


def saved(undersample=None):
    """Results of bce and db in two folds, as runs save them."""

    def result(loss, fold):
        data = {"id": "i", "text": "t", "targets": "y", "label_space": "l", "test": "e"}
        conditions = {
            "dataset": "cwe",
            "recipe": {"name": "probe", "training": {"epochs": 3}},
            "split": {"folds": 2, "fold": fold, "seed": 0},
            "undersample": undersample,
            "seeds": ["1"],
            "data": {**data, "split": f"split of fold {fold}"},
        }
        return {"conditions": conditions, "options": {"gamma": 2}}

    return {loss: {fold: result(loss, fold) for fold in (1, 2)} for loss in ("bce", "db")}


def test_folds_that_differ_in_the_fold_alone_are_accepted():
    refuse_mixed_folds(saved(), 2)
    refuse_mixed_folds({**saved(), "focal": {}}, 2)


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        ("conditions.data.text", "other", "db, fold 2: data.text is other, expected t"),
        ("conditions.data.test", "other", "db, fold 2: data.test is other, expected e"),
        ("conditions.data.split", "other", "data.split is other, expected split of fold 2"),
        ("conditions.split.seed", 3, "db, fold 2: split.seed is 3, expected 0"),
        ("conditions.split.fold", 1, "db, fold 2: split.fold is 1, expected 2"),
        ("conditions.split.folds", 5, "db, fold 2: split.folds is 5, expected 2"),
        ("conditions.seeds", ["1", "2"], "db, fold 2: seeds is ['1', '2'], expected ['1']"),
        ("conditions.recipe.training.epochs", 9, "recipe.training.epochs is 9, expected 3"),
        ("options.gamma", 5, "db, fold 2: options.gamma is 5, expected 2"),
    ],
)
def test_fold_of_other_data_or_protocol_is_refused_with_the_reason(path, value, told):
    found = copy.deepcopy(saved())
    *parents, last = path.split(".")
    inner = found["db"][2]
    for name in parents:
        inner = inner[name]
    inner[last] = value
    with pytest.raises(IncomparableError) as refused:
        refuse_mixed_folds(found, 2)
    assert told in str(refused.value)
    assert "kedro cross-validate" in str(refused.value)


def test_losses_may_differ_in_their_options():
    found = saved()
    for fold in (1, 2):
        found["db"][fold]["options"] = {"alpha": 0.1}
    refuse_mixed_folds(found, 2)


def test_undersampled_folds_agree_in_the_test_documents():
    found = saved(undersample={"ratio": 100})
    for loss in found:
        found[loss][2]["conditions"]["data"] |= {"id": "j", "text": "u", "targets": "z"}
    refuse_mixed_folds(found, 2)
    found["db"][2]["conditions"]["data"]["test"] = "other"
    with pytest.raises(IncomparableError, match=r"db, fold 2: data\.test is other, expected e"):
        refuse_mixed_folds(found, 2)


@pytest.mark.parametrize("marked", ["bce", "db"])
def test_losses_that_had_not_learned_are_not_tested(marked):
    found = results(bce=BCE, db=DB)
    table = compare_folds(found, ["macro_f1"], reference="bce", folds=4, marks={marked: "early"})
    assert table["p"].isna().all()
    assert rows(table).loc[marked, "mark"] == "early"


def test_mark_of_a_loss_names_its_folds():
    by_fold = {1: {"training": {"mark": "early"}}, 2: {"training": {"mark": None}}}
    assert fold_marks({"db": by_fold, "bce": {1: {}}}) == {"db": "early (fold 1)"}
