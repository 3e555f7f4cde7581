"""Fitting: early stopping, seeds, batches, events."""

import numpy as np
import pytest
import torch
from scipy import sparse
from small_training import SETTINGS, Remembers, Scaled, judge, network, scores_of, separable, train

from losslab.losses import build_loss
from losslab.training.events import EpochEnded, TrainingEnded, TrainingStarted, listening
from losslab.training.fit import fit


def test_training_learns_a_separable_problem():
    assert train("db").history["validation_macro_f1"].max() > 0.93


def test_weights_are_those_of_the_best_epoch():
    script = iter([0.1, 0.5, 0.9, 0.2, 0.9, 0.3, 0.4])
    made = []

    def make():
        made.append(network(build_loss("bce")))
        return made[0]

    def scripted(targets, scores):
        weight = made[0].model.layers[1].weight.detach().clone()
        seen.append(weight)
        return {"macro_f1": next(script), "micro_f1": 0.0}

    seen: list[torch.Tensor] = []
    fitted = fit(
        make,
        separable(100, seed=0),
        separable(60, seed=1),
        settings=SETTINGS.model_copy(update={"epochs": 7, "patience": 7}),
        compute_metrics=scripted,
        name="bce",
        seed=1,
    )
    assert fitted.best_epoch == 3
    assert torch.equal(fitted.weights["model.layers.1.weight"], seen[2])
    assert not torch.equal(seen[2], seen[-1])


def test_saved_weights_predict_what_was_judged():
    fitted = train()
    best = fitted.history["validation_macro_f1"].max()
    validation = separable(60, seed=1)
    features = validation.inputs(np.arange(60))["features"]
    scores = scores_of(network(build_loss("bce")), fitted.weights, features)
    assert judge(validation.targets.dense(), scores)["macro_f1"] == pytest.approx(best)


def test_a_losss_own_parameters_do_not_decay():
    loss = build_loss("tlpr", s0=1.0)
    loss.move.data.fill_(5.0)
    loss.move.requires_grad_(requires_grad=True)
    still = network(loss)
    loss.compute = lambda logits, targets, context: logits.square().mean() + 0 * loss.move
    train("tlpr", make_network=lambda: still, changed={"epochs": 3, "weight_decay": 1.0})
    assert loss.move.item() == 5.0


@pytest.mark.parametrize(("select_by", "best"), [("macro_f1", 2), ("micro_f1", 4)])
def test_training_ends_after_patience_epochs_without_a_better_one(select_by, best):
    script = zip([0.1, 0.3, 0.2, 0.3] + [0.2] * 36, [0.1, 0.2, 0.3, 0.4] + [0.1] * 36, strict=True)
    fitted = train(
        changed={"patience": 3},
        select_by=select_by,
        metrics=lambda *_: dict(zip(("macro_f1", "micro_f1"), next(script), strict=True)),
    )
    assert fitted.best_epoch == best
    assert fitted.history["epoch"].tolist() == list(range(1, best + 4))


def test_same_seed_same_weights_other_seed_other_weights():
    first, second, other = train(seed=1), train(seed=1), train(seed=2)
    for name, weight in first.weights.items():
        assert torch.equal(weight, second.weights[name])
    assert not torch.equal(*(fitted.weights["model.layers.1.weight"] for fitted in (first, other)))


CURVES = {
    "train_loss",
    "train_steps",
    "train_learning_rate",
    "train_documents_per_second",
    "train_memory_gb",
    "train_seconds",
    "validation_loss",
    "validation_macro_f1",
}


def test_listeners_hear_the_start_and_every_epoch():
    heard = []
    with listening(heard.append):
        fitted = train(changed={"epochs": 3})
    assert set(heard[1].metrics) >= CURVES
    assert heard[1].metrics["train_learning_rate"] == SETTINGS.learning_rate
    assert heard[1].metrics["train_memory_gb"] > 0.01
    assert heard[0] == TrainingStarted("bce", 1)
    epochs = heard[1:-1]
    assert [event.epoch for event in epochs] == [1, 2, 3]
    assert isinstance(heard[1], EpochEnded)
    assert [event.evaluation for event in epochs] == [1, 2, 3]
    recorded = fitted.history.drop(columns="epoch").to_dict("records")
    assert [event.metrics for event in epochs] == recorded
    assert isinstance(heard[-1], TrainingEnded)
    train(changed={"epochs": 1})
    assert len(heard) == 5


def test_parameters_of_a_loss_are_optimized_with_the_model():
    loss = Scaled()
    train("scaled", make_network=lambda: network(loss), changed={"epochs": 3})
    assert loss.scale.item() != 1.0


def test_fewer_documents_than_a_batch_are_told_of(caplog):
    loss = Remembers()
    make = lambda: network(loss)  # noqa: E731
    few = separable(10, seed=0)
    train("remembers", make_network=make, documents=few, changed={"epochs": 1}, batchwise=True)
    assert loss.rows[0] == 10
    assert "only 10 training documents for batches of 64" in caplog.text


def test_batchwise_losses_get_larger_ones():
    loss = Remembers()
    train("remembers", make_network=lambda: network(loss), changed={"epochs": 1}, batchwise=True)
    assert loss.rows[0] == 100  # of 100 documents one batch of at least 64


def test_every_document_is_seen_once_an_epoch():
    loss = Remembers()
    train("remembers", make_network=lambda: network(loss), changed={"epochs": 1})
    assert sorted(loss.rows[:6]) == [16, 16, 17, 17, 17, 17]


def test_context_reaches_the_loss_row_by_row():
    loss = Remembers()
    targets = separable(100, seed=0).targets.dense()
    documents = separable(
        100, seed=0, mask=sparse.csr_array(targets), soft_targets=lambda r: targets[r]
    )
    train(
        "remembers", make_network=lambda: network(loss), changed={"epochs": 1}, documents=documents
    )
    for context, truth in zip(loss.seen[:6], loss.truths[:6], strict=True):
        assert torch.equal(context["mask"], truth)
        assert torch.equal(context["soft_targets"], truth)


def test_soft_targets_wait_for_their_step():
    loss = Remembers()
    documents = separable(100, seed=0, soft_targets=np.zeros((100, 3)))
    changed = {"epochs": 2, "soft_targets_from_step": 4}
    train("remembers", make_network=lambda: network(loss), changed=changed, documents=documents)
    given = [context["soft_targets"] is not None for context in loss.seen if context]
    assert given == [False] * 4 + [True] * 8


def test_hard_and_soft_loss_are_recorded_and_the_training_is_the_same_without():
    documents = separable(100, seed=0, soft_targets=np.full((100, 3), 1 / 3, dtype=np.float32))
    changed = {"epochs": 4, "soft_targets_from_step": 12}

    def train_kwls(unnamed):
        loss = build_loss("kwls", alpha=8.0)
        if unnamed:
            loss.register_forward_hook(lambda *_: loss.parts.clear())
        return train(
            "kwls", make_network=lambda: network(loss), documents=documents, changed=changed
        )

    fitted, without = train_kwls(False), train_kwls(True)
    history = fitted.history
    assert (history["train_soft_loss"] > 0).tolist() == [False, False, True, True]  # 6 steps each
    total = history["train_hard_loss"] + history["train_soft_loss"]
    assert total.tolist() == pytest.approx(history["train_loss"].tolist())
    assert set(history) - set(without.history) == {"train_hard_loss", "train_soft_loss"}
    for name in ("train_loss", "validation_loss", "validation_macro_f1"):
        assert history[name].equals(without.history[name])
    assert all(torch.equal(fitted.weights[n], w) for n, w in without.weights.items())


def test_half_epochs_are_judged_and_counted():
    fitted = train(changed={"epochs": 3, "evaluations_per_epoch": 2})
    assert fitted.history["epoch"].tolist() == [0.5, 1, 1.5, 2, 2.5, 3]


def test_an_epoch_has_no_more_parts_than_batches():
    fitted = train(changed={"epochs": 2, "batch_size": 50, "evaluations_per_epoch": 5})
    assert fitted.history["epoch"].tolist() == [0.5, 1, 1.5, 2]
    assert (fitted.history["train_loss"] > 0).all()
