"""The parameters of losses follow from their classes."""

import pytest

from losslab.losses import LOSSES
from losslab.parameters import losses_for_task, namespace
from losslab.parameters.losses import loss_model


@pytest.mark.parametrize("name", LOSSES)
def test_parameter_model_has_the_options_and_defaults_of_the_class(name):
    assert loss_model(name)().model_dump() == LOSSES[name].defaults()


@pytest.mark.parametrize("name", LOSSES)
def test_unknown_option_is_refused(name):
    with pytest.raises(ValueError, match="no_such_option"):
        loss_model(name)(no_such_option=1)


def test_numbers_are_floats_however_they_are_written():
    gamma = loss_model("db")(gamma=1).gamma
    assert (type(gamma), gamma) == (float, 1.0)


def test_every_loss_fits_a_task_and_each_task_has_losses_in_the_order_of_the_table():
    multi, single = losses_for_task("multi"), losses_for_task("single")
    assert set(multi) | set(single) == set(LOSSES)
    for chosen in (multi, single):
        assert chosen == [name for name in LOSSES if name in chosen]
    assert "ce" not in multi
    assert "ce" in single


def test_namespaces_are_distinct_and_end_like_a_loss():
    names = [namespace(loss) for loss in LOSSES]
    assert len(set(names)) == len(names)
    assert all(name.endswith("_loss") for name in names)
