import numpy as np
import pytest
from scipy.stats import ttest_1samp

from losslab.evaluation import compare_folds

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
    assert np.isnan(db["p"])


def test_equal_losses_do_not_differ():
    table = rows(compare_folds(results(bce=BCE, a=BCE), ["macro_f1"], reference="bce", folds=4))
    assert (table.loc["a", "difference"], table.loc["a", "p_holm"]) == (0.0, 1.0)


def test_best_comes_first_also_where_less_is_better():
    table = compare_folds(
        results(bce=BCE, db=DB), ["macro_f1", "ranking_loss"], reference="bce", folds=4
    )
    assert table["loss"].tolist() == ["db", "bce", "db", "bce"]
