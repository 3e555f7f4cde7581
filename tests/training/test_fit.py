import numpy as np
import pytest
import torch

from losslab.evaluation import judge_epoch, threshold_grid
from losslab.losses import LabelStatistics, build_loss
from losslab.losses.base import Loss
from losslab.models.probe import Probe
from losslab.training.budget import Budget, Regularisers
from losslab.training.errors import NonFiniteLossError
from losslab.training.events import EpochEnded, TrainingStarted, listening
from losslab.training.fit import fit
from losslab.training.network import ModelWithLoss, predict_scores
from losslab.training.trainer import RowBatches

NONE = Regularisers(rdrop=0, adversarial=0, radius=0.1)
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
    threads=1,
    regularisers=NONE,
)


def separable(rows: int, seed: int) -> RowBatches:
    """Labels that are signs of single features."""
    features = torch.from_numpy(np.random.default_rng(seed).normal(size=(rows, 4))).float()
    return RowBatches((features[:, :3] > 0).float(), features=features)


def judge(targets, logits):
    return judge_epoch(targets, logits, grid=threshold_grid(0.4, 0.6, 0.01))


STATISTICS = LabelStatistics(frequencies=[50, 50, 50], documents=100, mu=0.4)


def network(loss, dropout=0.0, regularisers=NONE, **options):
    return ModelWithLoss(
        Probe(width=4, labels=3, hidden=0, dropout=dropout),
        loss,
        regularisers=regularisers,
        **options,
    )


def train(loss="bce", seed=1, budget=BUDGET, make_network=None):
    return fit(
        make_network or (lambda: network(build_loss(loss, STATISTICS))),
        separable(100, seed=0),
        separable(60, seed=1),
        budget=budget,
        judge=judge,
        name=loss,
        seed=seed,
    )


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
        budget=BUDGET.model_copy(update={"epochs": 7, "patience": 7}),
        judge=scripted,
        name="bce",
        seed=1,
    )
    assert fitted.best_epoch == 3
    assert torch.equal(fitted.weights["model.layers.1.weight"], seen[2])
    assert not torch.equal(seen[2], seen[-1])


def test_saved_weights_predict_what_was_judged():
    fitted = train()
    best = fitted.history["validation_macro_f1"].max()
    validation = separable(60, seed=1).columns
    weights = {name: weight.numpy() for name, weight in fitted.weights.items()}
    scores = predict_scores(network(build_loss("bce")), weights, validation["features"].numpy())
    assert judge(validation["targets"].numpy(), scores)["macro_f1"] == pytest.approx(best)


def test_a_losss_own_parameters_do_not_decay():
    loss = build_loss("tlpr", s0=1.0)
    loss.move.data.fill_(5.0)
    loss.move.requires_grad_(requires_grad=True)
    still = network(loss)
    loss.compute = lambda logits, targets, context: logits.square().mean() + 0 * loss.move
    budget = BUDGET.model_copy(update={"epochs": 3, "weight_decay": 1.0})
    train("tlpr", make_network=lambda: still, budget=budget)
    assert loss.move.item() == 5.0


def test_training_ends_after_patience_epochs_without_a_better_one():
    fitted = train()
    assert len(fitted.history) == min(fitted.best_epoch + BUDGET.patience, BUDGET.epochs)
    assert fitted.history["epoch"].tolist() == list(range(1, len(fitted.history) + 1))


def test_same_seed_same_weights_other_seed_other_weights():
    first, second, other = train(seed=1), train(seed=1), train(seed=2)
    for name, weight in first.weights.items():
        assert torch.equal(weight, second.weights[name])
    assert not torch.equal(*(fitted.weights["model.layers.1.weight"] for fitted in (first, other)))


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


class BlowsUp(Loss):
    """A loss that turns infinite at its third batch."""

    calls = 0

    def forward(self, logits, targets, context=None):
        self.calls += 1
        return logits.sum() * (float("inf") if self.calls == 3 else 1.0)


def test_a_loss_that_turns_non_finite_stops_with_name_seed_and_step():
    with pytest.raises(NonFiniteLossError, match=r"blows, seed 1, step 3: the loss is"):
        train("blows", make_network=lambda: network(BlowsUp()))


class Scaled(Loss):
    """BCE with a scale that is learned with the model."""

    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(()))

    def forward(self, logits, targets, context=None):
        return torch.nn.functional.binary_cross_entropy_with_logits(self.scale * logits, targets)


def test_parameters_of_a_loss_are_optimised_with_the_model():
    loss = Scaled()
    train(
        "scaled", make_network=lambda: network(loss), budget=BUDGET.model_copy(update={"epochs": 3})
    )
    assert loss.scale.item() != 1.0


class Remembers(Loss):
    """Keeps what the trainer hands it."""

    def forward(self, logits, targets, context=None):
        self.seen = [*getattr(self, "seen", []), context]
        return logits.square().mean()


def test_losses_are_told_the_epoch_and_given_a_second_pass_where_they_need_one():
    loss = Remembers()
    make = lambda: network(loss, dropout=0.5, needs_second_pass=True)  # noqa: E731
    train("remembers", make_network=make, budget=BUDGET.model_copy(update={"epochs": 2}))
    in_training = [context for context in loss.seen if context]
    assert sorted({context["epoch"] for context in in_training}) == [0, 1]
    assert all(context["second_logits"].shape[1] == 3 for context in in_training)


def test_learned_parameters_and_random_state_of_a_loss_come_back_with_the_weights():
    fitted = train("tlpr", budget=BUDGET.model_copy(update={"epochs": 3}))
    weights = {name: weight.numpy() for name, weight in fitted.weights.items()}
    fresh = network(build_loss("tlpr"))
    predict_scores(fresh, weights, np.zeros((1, 4), dtype=np.float32))
    assert fresh.loss.move.item() == fitted.weights["loss.move"].item() != 0


@pytest.mark.parametrize("weights", [{"rdrop": 1.0}, {"adversarial": 1.0}])
def test_regularisers_ask_for_agreement(weights):
    batch = separable(40, seed=0).columns
    plain = network(build_loss("bce"), dropout=0.5).train()
    strict = network(
        build_loss("bce"), dropout=0.5, regularisers=NONE.model_copy(update=weights)
    ).train()
    strict.load_state_dict(plain.state_dict())
    values = {}
    for name, module in {"plain": plain, "strict": strict}.items():
        torch.manual_seed(0)
        values[name] = torch.stack([module(**batch)["loss"] for _ in range(20)]).mean()
    assert values["strict"] > values["plain"]
    (values["strict"] - values["plain"]).backward()
    assert strict.model.layers[1].weight.grad.isfinite().all()
    strict.eval()
    assert strict(**batch)["loss"] == plain.eval()(**batch)["loss"]
