"""Marks of trainings that ended before they had learned, and what is said of each training."""

import numpy as np
import pandas as pd
import pytest

from losslab.evaluation import MARK, falls_steadily, summarise_trainings, training_facts

TIME = np.arange(1, 101)
OVERFITTING = 1 + np.abs(TIME - 30) / 100


def curves(train, validation, *, value=0.5, trivial=0.2, seed=1) -> pd.DataFrame:
    """A training that reached ``value`` in its tenth epoch."""
    epochs = np.arange(1, len(train) + 1)
    return pd.DataFrame(
        {
            "epoch": epochs,
            "train_steps": 2 * epochs,
            "train_loss": train,
            "validation_loss": validation,
            "validation_micro_f1": np.where(epochs == 10, value, 0.1),
            "seed": seed,
            "best": 10,
            "select_by": "micro_f1",
            "trivial_micro_f1": trivial,
            "ended_by": "patience",
        }
    )


@pytest.mark.parametrize(
    "curve",
    [1 - TIME / 100, -TIME.astype(float), 0.07 - TIME / 1e4, np.log(3) - np.log1p(TIME / 50)],
    ids=["linear", "below zero", "hardly", "logarithm"],
)
def test_a_curve_that_keeps_its_pace_falls_steadily(curve):
    noisy = curve + 0.1 * np.abs(curve).std() * np.random.default_rng(0).normal(size=100)
    assert falls_steadily(pd.Series(curve))
    assert falls_steadily(pd.Series(noisy))


@pytest.mark.parametrize(
    "curve",
    [np.exp(-TIME / 10), 1 / TIME, np.ones(100), OVERFITTING, np.exp(-TIME / 10)[::-1]],
    ids=["exponential", "hyperbola", "flat", "turns", "rises"],
)
def test_a_curve_that_has_levelled_off_does_not(curve):
    assert not falls_steadily(pd.Series(curve))


@pytest.mark.parametrize("seed", range(50))
def test_noise_is_no_fall(seed):
    assert not falls_steadily(pd.Series(np.random.default_rng(seed).normal(size=200)))


def test_too_few_evaluations_have_no_quarters():
    assert not falls_steadily(pd.Series([7.0, 6, 5, 4, 3, 2, 1]))


def short(validation, train=(6.0, 5.0, 4.0), metric=(0.3, 0.4, 0.5), **facts) -> pd.DataFrame:
    """A training of a few epochs that its budget ended; the last one is the best."""
    history = curves(train, validation).assign(validation_micro_f1=metric, best=len(train))
    return history.assign(**{"ended_by": "budget", **facts})


@pytest.mark.parametrize("epochs", [2, 3, 7])
def test_a_short_budget_that_ends_while_everything_improves_is_marked(epochs):
    losses, metric = np.arange(epochs, 0, -1.0), np.linspace(0.3, 0.5, epochs)
    facts = training_facts(short(losses, losses, metric))
    assert facts["mark"].startswith(f"{MARK}: validation metric and losses still improved")


@pytest.mark.parametrize(
    "history",
    [
        short((6.0, 5.0, 5.5)),
        short((9.0, 5.0, 4.9)),
        short((6.0, 5.0, 4.0), train=(6.0, 4.0, 4.5)),
        short((6.0, 5.0, 4.0), metric=(0.3, 0.2, 0.5)),
        short((6.0, 5.0, 4.0), metric=(0.3, 0.49, 0.5)),
        short((6.0, 5.0, 4.0), metric=(0.3, 0.5, 0.4), best=2),
        short((6.0, 5.0, 4.0), ended_by="patience"),
        short((6.0,), train=(6.0,), metric=(0.5,)),
    ],
    ids=[
        "turns",
        "levels",
        "train",
        "metric_falls",
        "metric_levels",
        "earlier",
        "patience",
        "single",
    ],
)
def test_a_short_training_that_has_slowed_or_turned_is_not_marked(history):
    assert training_facts(history)["mark"] is None


def test_a_training_that_never_beat_the_trivial_prediction_is_marked():
    facts = training_facts(curves(np.exp(-TIME / 10), OVERFITTING, value=0.2))
    assert facts["mark"] == f"{MARK}: never better than the best trivial prediction on validation"


def test_a_training_whose_losses_both_still_fall_is_marked():
    facts = training_facts(curves(1 - TIME / 200, 1 - TIME / 300))
    assert facts["mark"] == f"{MARK}: training and validation loss were still falling steadily"


@pytest.mark.parametrize("validation", [OVERFITTING, np.exp(-TIME / 10)], ids=["turns", "levels"])
def test_overfitting_is_no_mark(validation):
    assert training_facts(curves(1 - TIME / 200, validation))["mark"] is None


def test_a_loss_has_the_marks_of_its_seeds_and_names_them():
    sound = curves(np.exp(-TIME / 10), OVERFITTING, seed=4)
    worse = curves(np.exp(-TIME / 10), OVERFITTING, value=0.1, seed=5)
    both = summarise_trainings(pd.concat([sound, worse]))
    assert both["mark"] == f"{worse_mark(worse)} (1 of 2 seeds: 5)"
    assert [both["seeds"][seed]["mark"] for seed in ("4", "5")] == [None, worse_mark(worse)]
    assert summarise_trainings(sound)["mark"] is None
    assert summarise_trainings(worse)["mark"] == worse_mark(worse)


def worse_mark(history: pd.DataFrame) -> str:
    return training_facts(history)["mark"]


def test_facts_are_those_of_the_best_and_the_last_epoch():
    facts = training_facts(curves(np.exp(-TIME / 10), OVERFITTING))
    assert facts["validation"] == {"micro_f1": 0.5}
    assert (facts["best_epoch"], facts["epochs"], facts["steps"]) == (10, 100, 200)
    assert (facts["select_by"], facts["ended_by"]) == ("micro_f1", "patience")
