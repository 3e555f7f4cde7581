"""The parameters of losses and baselines follow from their classes."""

import pytest

from losslab.baselines import METHODS
from losslab.losses import LOSSES
from losslab.parameters import (
    LossSettings,
    SearchSettings,
    baselines_for_task,
    losses_for_task,
    method_of,
    namespace,
)
from losslab.parameters.losses import option_model


@pytest.mark.parametrize("name", METHODS)
def test_parameter_model_has_the_options_and_defaults_of_the_class(name):
    rate = {"learning_rate": None} if name in LOSSES else {}
    assert option_model(name)().model_dump() == METHODS[name].defaults() | rate


@pytest.mark.parametrize("name", METHODS)
def test_unknown_option_is_refused(name):
    with pytest.raises(ValueError, match="no_such_option"):
        option_model(name)(no_such_option=1)


def test_learning_rate_of_a_loss_is_no_option_of_it_and_that_of_a_baseline_is_refused():
    focal = LossSettings(name="focal", options={"gamma": 2.0})
    assert focal.settings == {"gamma": 2.0}
    tuned = focal.model_copy(update={"learning_rate": 0.01})
    assert tuned.settings == {"gamma": 2.0, "learning_rate": 0.01}
    for rate in (0, -1, float("nan"), "high"):
        with pytest.raises(ValueError, match="learning_rate"):
            option_model("focal")(learning_rate=rate)
    with pytest.raises(ValueError, match="learning_rate"):
        option_model("svm")(learning_rate=0.01)


@pytest.mark.parametrize("factors", [(1, 0.1), (1, 1), (0, 1), (1,)])
def test_learning_rates_of_a_search_are_a_range(factors):
    settings = {"trials": 3, "startup_trials": 1, "warmup_steps": 0}
    assert SearchSettings(learning_rate=(0.1, 1), **settings).learning_rate == (0.1, 1.0)
    with pytest.raises(ValueError, match="learning_rate"):
        SearchSettings(learning_rate=factors, **settings)


def test_numbers_are_floats_however_they_are_written():
    gamma = option_model("db")(gamma=1).gamma
    assert (type(gamma), gamma) == (float, 1.0)


def test_every_loss_fits_a_task_and_each_task_has_losses_in_the_order_of_the_table():
    multi, single = losses_for_task("multi"), losses_for_task("single")
    assert set(multi) | set(single) == set(LOSSES)
    for chosen in (multi, single):
        assert chosen == [name for name in LOSSES if name in chosen]
    assert "ce" not in multi
    assert "ce" in single


def test_images_have_no_words_to_learn_from():
    left_out = set(losses_for_task("multi")) - set(losses_for_task("multi", "image"))
    assert left_out == {"kwls", "ls_tfidf", "mask_element"}
    assert baselines_for_task("multi", "image") == []


def test_chain_and_powerset_are_for_several_labels_a_document():
    multi, single = baselines_for_task("multi"), baselines_for_task("single")
    assert set(multi) - set(single) == {"chain", "powerset"}
    assert not set(single) - set(multi)


def test_namespaces_are_distinct_and_lead_back_to_the_name():
    names = {name: namespace(name) for name in METHODS}
    assert len(set(names.values())) == len(names)
    assert all(method_of(full) == name for name, full in names.items())
    assert all(full.endswith("_loss") == (name in LOSSES) for name, full in names.items())
