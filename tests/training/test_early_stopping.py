"""Which epoch is kept, and when a training ends."""

import pytest
from small_training import network, separable, train

from losslab.evaluation import trivial_metrics
from losslab.losses import build_loss
from losslab.training.early_stopping import EarlyStopping
from losslab.training.events import TrainingEnded, listening

TRIVIAL = {"macro_f1": 0.3}


def stopping(values, losses=None, *, micro=None, steps=10, **options) -> EarlyStopping:
    """Early stopping after so many epochs of these values and validation losses."""
    rule = EarlyStopping(
        "bce", 1, network(build_loss("bce")), "macro_f1", **{"patience": 3, **options}
    )
    for epoch, value in enumerate(values, start=1):
        loss = losses[epoch - 1] if losses else 1.0 / epoch
        rule.update(
            epoch,
            {
                "validation_macro_f1": value,
                "validation_micro_f1": micro[epoch - 1] if micro else value,
                "validation_loss": loss,
                "train_steps": steps * epoch,
            },
        )
    return rule


def test_an_epoch_below_the_trivial_prediction_gives_way_to_one_above():
    rule = stopping([0.3, 0.0, 0.0, 0.31, 0.2], trivial=TRIVIAL)
    assert (rule.best_epoch, rule.best) == (4, 0.31)


def test_macro_f1_beyond_every_label_counts_only_with_micro_f1_beyond_trivial():
    both = {"macro_f1": 0.03, "micro_f1": 0.3}
    rule = stopping([0.039, 0.01, 0.02, 0.031], micro=[0.04, 0.35, 0.4, 0.45], trivial=both)
    assert (rule.best_epoch, rule.best, rule.beaten) == (4, 0.031, True)
    assert not stopping([0.039, 0.01], micro=[0.04, 0.35], trivial=both).beaten


def test_a_trivial_prediction_is_not_beaten_by_rounding():
    assert not stopping([0.3 + 1e-12], trivial=TRIVIAL).beaten
    assert stopping([0.3 + 1e-6], trivial=TRIVIAL).beaten


def test_below_the_trivial_prediction_the_lowest_validation_loss_is_kept():
    rule = stopping([0.3, 0.1, 0.2, 0.25], [5.0, 3.0, 2.0, 4.0], trivial=TRIVIAL)
    assert (rule.best_epoch, rule.best, rule.beaten) == (3, 0.2, False)


@pytest.mark.parametrize(("values", "losses"), [([0.5, 0.5], [2, 1]), ([0.1, 0.2], [1, 1])])
def test_the_earlier_epoch_wins_a_tie(values, losses):
    assert stopping(values, losses, trivial=TRIVIAL).best_epoch == 1


def test_patience_does_not_start_below_the_trivial_prediction():
    below = [0.3] + [0.1] * 20
    assert not stopping(below, [float(e) for e in range(21)], trivial=TRIVIAL).should_stop()
    assert not stopping([*below, 0.4, 0.1, 0.1], trivial=TRIVIAL).should_stop()
    assert stopping([*below, 0.4, 0.1, 0.1, 0.1], trivial=TRIVIAL).should_stop()


@pytest.mark.parametrize(("epochs", "ends"), [(3, False), (10, False), (21, True)])
def test_patience_needs_epochs_and_steps(epochs, ends):
    rule = stopping([0.5] + [0.4] * epochs, steps=2, patience=3, patience_steps=41)
    assert rule.should_stop() is ends
    assert stopping([0.5, 0.4, 0.4], steps=50, patience=3, patience_steps=41).should_stop() is False


@pytest.mark.parametrize(("patience", "ended_by"), [(2, "patience"), (40, "budget")])
def test_a_training_says_why_it_ended(patience, ended_by):
    heard = []
    values = iter([0.1, 0.5, *[0.4] * 38])
    with listening(heard.append):
        fitted = train(
            changed={"patience": patience, "epochs": 6},
            metrics=lambda *_: {"macro_f1": next(values)},
        )
    (ended,) = (event for event in heard if isinstance(event, TrainingEnded))
    assert heard[-1] == ended
    assert (ended.loss, ended.seed) == ("bce", 1)
    assert ended.facts["ended_by"] == fitted.ended_by == ended_by
    assert ended.facts["best_epoch"] == fitted.best_epoch == 2
    assert ended.facts["select_by"] == "macro_f1"


def test_a_training_that_never_beats_the_trivial_prediction_is_marked_and_uses_its_budget(caplog):
    fitted = train(
        changed={"patience": 2, "epochs": 9},
        metrics=lambda *_: {"macro_f1": 0.2},
        trivial=TRIVIAL,
    )
    assert len(fitted.history) == 9
    assert fitted.best_epoch == fitted.history.set_index("epoch")["validation_loss"].idxmin()
    assert "bce, seed 1: stopped before it had learned: never better" in caplog.text


def test_a_separable_problem_is_learned_beyond_the_trivial_prediction():
    targets = separable(60, seed=1).targets.dense()
    trivial = trivial_metrics([50, 50, 50], targets, "macro_f1")
    fitted = train("soft_f1", trivial=trivial, batchwise=True, changed={"patience_steps": 40})
    assert fitted.history["validation_macro_f1"].max() > trivial["macro_f1"]
    assert fitted.ended_by == "budget" or len(fitted.history) >= 40
