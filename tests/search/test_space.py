"""What is searched of every loss, and that it stays within the bounds of its signature."""

import optuna
import pytest

from losslab.losses import LOSSES
from losslab.parameters import LossSettings
from losslab.search import search_space

FACTORS = (0.1, 10.0)
RATE = 0.001


def space_of(loss, **options):
    settings = LossSettings(name=loss, options={**LOSSES[loss].defaults(), **options})
    return {each.name: each for each in search_space(settings, RATE, FACTORS)}


def sample(space, count=40, first=None):
    """Settings of trials drawn at random, the first one enqueued."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    if first is not None:
        study.enqueue_trial(first)
    for _ in range(count):
        trial = study.ask()
        yield {name: each.suggest(trial) for name, each in space.items()}


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_is_built_from_whatever_is_drawn(loss):
    options = LOSSES[loss].options()
    for settings in sample(space_of(loss)):
        rate = settings.pop("learning_rate")
        assert RATE * 0.1 <= rate <= RATE * 10
        for name, value in settings.items():
            options[name].check(value)


@pytest.mark.parametrize("loss", LOSSES)
def test_first_trial_is_the_default(loss):
    space = space_of(loss)
    enqueued = {name: value for each in space.values() for name, value in each.enqueued().items()}
    first = next(sample(space, 1, enqueued))
    defaults = LOSSES[loss].defaults()
    assert first == {name: defaults[name] for name in space if name in defaults} | {
        "learning_rate": RATE
    }


@pytest.mark.parametrize("loss", LOSSES)
def test_every_number_but_a_count_is_searched_and_so_are_words_and_switches(loss):
    options = LOSSES[loss].options().values()
    expected = {option.name for option in options if int not in option.types}
    assert set(space_of(loss)) == expected | {"learning_rate"}


def test_range_is_widened_to_a_value_that_is_set():
    gamma = space_of("focal", gamma=7.0)["gamma"]
    assert (gamma.low, gamma.high, gamma.default) == (0.0, 7.0, 7.0)
    assert 0.95 in space_of("cb", beta=0.95)["beta"].choices


def test_word_or_number_draws_both():
    space = {"mu": space_of("db")["mu"]}
    drawn = {settings["mu"] for settings in sample(space)}
    assert "auto" in drawn
    assert len(drawn) > 5
    assert next(
        sample({"mu": space_of("db", mu=0.9)["mu"]}, 1, space_of("db", mu=0.9)["mu"].enqueued())
    ) == {"mu": 0.9}


def test_value_that_no_range_can_hold_is_kept():
    assert "beta" not in space_of("sigmoid_f1", beta=[1.0, 2.0])
    assert "weight" not in space_of("ce_count", weight=0.0)  # its range is logarithmic
