"""On a small corpus every loss learns before it is judged, or is marked: a part of the benchmark."""

import sys

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

import stopping_rule


@pytest.fixture(scope="module")
def corpus():
    return stopping_rule.simulate(documents=400)


@pytest.mark.filterwarnings("ignore:.*small for a")
@pytest.mark.slow
@pytest.mark.parametrize(
    "loss",
    [
        *("bce", "sigmoid_f1", "bpmll"),
        *(pytest.param(name, marks=pytest.mark.long) for name in ("ce_count", "dice2", "soft_f1")),
    ],
)
def test_a_loss_beats_the_trivial_prediction_on_held_out_documents_or_is_marked(corpus, loss):
    facts = stopping_rule.train(loss, corpus)
    assert not stopping_rule.is_judged_untrained(facts)
    assert bool(facts["mark"]) == (loss == "bpmll")  # its value has no lower bound


def test_a_budget_too_short_to_learn_is_marked(corpus):
    short = stopping_rule.RECIPE.training.model_copy(update={"epochs": 3})
    recipe = stopping_rule.RECIPE.model_copy(update={"training": short})
    facts = stopping_rule.train("bce", corpus, recipe)
    assert facts["ended_by"] == "budget"
    assert facts["mark"].startswith("stopped before it had learned: never better")
