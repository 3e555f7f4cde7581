"""The nodes that train and score a loss: what they may look at, and what they give."""

import numpy as np
import pandas as pd
import pytest

from losslab.errors import NonFiniteScoresError
from losslab.evaluation.comparability import find_mismatches
from losslab.pipelines.training.nodes import score
from losslab.reporting import comparison_table

from .small_data import make_data, run_nodes


def same(left, right) -> bool:
    return all(np.array_equal(left[name], right[name]) for name in left)


def test_test_labels_decide_nothing_but_the_metrics():
    seen, blind = run_nodes(make_data()), run_nodes(make_data(), permute="test")
    assert same(seen.model, blind.model)
    pd.testing.assert_frame_equal(seen.history, blind.history)
    assert same(seen.scores, blind.scores)
    assert seen.decision_rules == blind.decision_rules
    assert seen.metrics["mean"]["macro_f1"] != blind.metrics["mean"]["macro_f1"]


def test_validation_labels_decide_the_epoch_and_the_threshold():
    seen, other = run_nodes(make_data()), run_nodes(make_data(), permute="validation")
    assert not seen.history["validation_macro_f1"].equals(other.history["validation_macro_f1"])
    assert seen.decision_rules != other.decision_rules


@pytest.mark.parametrize("loss", ["ranking", "zlpr_rdrop", "sad_f1", "sbayes_f1", "tlpr"])
def test_losses_with_their_own_scores_pass_through_all_nodes(loss):
    done = run_nodes(make_data(), loss)
    assert done.scores["test"].shape == (2, 30, 4)
    assert set(done.decision_rules["seeds"]) == set(done.metrics["seeds"]) == {"1", "2"}
    assert done.metrics["mean"]["micro_f1"] > 0.3


def test_scores_of_a_damaged_model_are_refused_by_loss_and_seed():
    done = run_nodes(make_data())
    name = next(name for name in done.model if name.startswith("seed_2/") and "weight" in name)
    done.model[name][0, 0] = np.nan
    with pytest.raises(
        NonFiniteScoresError, match=r"^db, seed 2: 30 of 120 scores of the validation"
    ):
        score(**done.shared, model=done.model)


def test_learning_rate_of_a_loss_trains_as_that_of_the_recipe_and_is_recorded():
    data = make_data()
    own = run_nodes(data, "bce", learning_rate=0.02)
    recipes = run_nodes(data, "bce", recipe_rate=0.02)
    other = run_nodes(data, "bce")
    assert own.model.keys() == recipes.model.keys()
    assert same(own.model, recipes.model)
    assert not same(own.model, other.model)
    assert own.metrics["options"] == {"learning_rate": 0.02}
    assert other.metrics["options"] == {}


def test_losses_of_other_learning_rates_are_compared_and_the_report_tells_them():
    data = make_data()
    results = {
        "bce": run_nodes(data, "bce").metrics,
        "db": run_nodes(data, "db", learning_rate=0.02).metrics,
    }
    assert find_mismatches(results, "bce") == {}
    table = comparison_table(results).set_index("loss")
    assert table.loc["db", "learning_rate"] == 0.02
    assert pd.isna(table.loc["bce", "learning_rate"])
    assert "learning_rate" not in comparison_table({"bce": results["bce"]})
