import numpy as np
import pytest
import torch

from losslab.evaluation import judge_epoch, threshold_grid
from losslab.losses import LOSSES, LabelStatistics, build_loss
from losslab.models.probe import Probe
from losslab.training.budget import Budget
from losslab.training.errors import NonFiniteLossError
from losslab.training.events import EpochEnded, TrainingStarted, listening
from losslab.training.fit import fit
from losslab.training.trainer import RowBatches

BUDGET = Budget(
    epochs=40,
    patience=8,
    select_by="macro_f1",
    batch_size=16,
    learning_rate=0.02,
    weight_decay=0.0,
    max_grad_norm=1.0,
    warmup_steps=0,
    schedule="constant_with_warmup",
)


def separable(rows: int, seed: int) -> RowBatches:
    """Labels that are signs of single features."""
    features = torch.from_numpy(np.random.default_rng(seed).normal(size=(rows, 4))).float()
    return RowBatches((features[:, :3] > 0).float(), features=features)


def judge(targets, logits):
    return judge_epoch(targets, logits, decision="sigmoid", grid=threshold_grid(0.4, 0.6, 0.01))


def train(loss="bce", seed=1, budget=BUDGET, make_loss=None):
    statistics = LabelStatistics(frequencies=[50, 50, 50], documents=100, mu=0.4)
    return fit(
        lambda: Probe(width=4, labels=3, hidden=0, dropout=0.0),
        make_loss or (lambda: build_loss(loss, statistics)),
        separable(100, seed=0),
        separable(60, seed=1),
        budget=budget,
        judge=judge,
        name=loss,
        seed=seed,
    )


@pytest.mark.parametrize("loss", LOSSES)
def test_every_loss_learns_a_separable_problem(loss):
    assert train(loss).history["validation_macro_f1"].max() > 0.93


def test_weights_are_those_of_the_best_epoch():
    fitted = train()
    best = fitted.history.set_index("epoch").loc[fitted.best_epoch]
    assert best["validation_macro_f1"] == fitted.history["validation_macro_f1"].max()
    model = Probe(width=4, labels=3, hidden=0, dropout=0.0)
    model.load_state_dict(fitted.weights)
    validation = separable(60, seed=1).columns
    with torch.no_grad():
        logits = model.eval()(validation["features"]).numpy()
    judged = judge(validation["targets"].numpy(), logits)
    assert judged["macro_f1"] == pytest.approx(best["validation_macro_f1"], abs=1e-12)


def test_training_ends_after_patience_epochs_without_a_better_one():
    fitted = train()
    assert len(fitted.history) == min(fitted.best_epoch + BUDGET.patience, BUDGET.epochs)
    assert fitted.history["epoch"].tolist() == list(range(1, len(fitted.history) + 1))


def test_same_seed_same_weights_other_seed_other_weights():
    first, second, other = train(seed=1), train(seed=1), train(seed=2)
    for name, weight in first.weights.items():
        assert torch.equal(weight, second.weights[name])
    assert not torch.equal(first.weights["layers.1.weight"], other.weights["layers.1.weight"])


def test_listeners_hear_the_start_and_every_epoch():
    heard = []
    with listening(heard.append):
        fitted = train(budget=BUDGET.model_copy(update={"epochs": 3}))
    assert heard[0] == TrainingStarted("bce", 1)
    assert [event.epoch for event in heard[1:]] == [1, 2, 3]
    assert isinstance(heard[1], EpochEnded)
    recorded = fitted.history.drop(columns="epoch").to_dict("records")
    assert [event.figures for event in heard[1:]] == recorded
    train(budget=BUDGET.model_copy(update={"epochs": 1}))
    assert len(heard) == 4


class BlowsUp(torch.nn.Module):
    """A loss that turns infinite at its third batch."""

    calls = 0

    def forward(self, logits, targets, context=None):
        self.calls += 1
        return logits.sum() * (float("inf") if self.calls == 3 else 1.0)


def test_a_loss_that_turns_non_finite_stops_with_name_seed_and_step():
    with pytest.raises(NonFiniteLossError, match=r"blows, seed 1, step 3, epoch .*: the loss is"):
        train("blows", make_loss=BlowsUp)


class Scaled(torch.nn.Module):
    """BCE with a scale that is learned with the model."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(()))

    def forward(self, logits, targets, context=None):
        return torch.nn.functional.binary_cross_entropy_with_logits(self.scale * logits, targets)


def test_parameters_of_a_loss_are_optimised_with_the_model():
    loss = Scaled()
    train("scaled", make_loss=lambda: loss, budget=BUDGET.model_copy(update={"epochs": 3}))
    assert loss.scale.item() != 1.0
