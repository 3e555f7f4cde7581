import json
import re

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from scipy import sparse

from losslab.errors import NonFiniteLossError
from losslab.evaluation import judge_epoch, threshold_grid
from losslab.features.inputs import Embeddings
from losslab.losses import LabelStatistics, build_loss
from losslab.losses.base import Loss
from losslab.models.probe import Probe
from losslab.parameters import RegularizerSettings, TrainingSettings
from losslab.training.batches import SplitDataset
from losslab.training.events import EpochEnded, TrainingStarted, listening
from losslab.training.fit import fit
from losslab.training.network import ModelWithLoss, load_weights, predict_scores
from losslab.training.trainer import (
    MAX_SKIPPED_STEPS,
    Trainer,
    build_optimizer,
    learning_rate_factor,
)

NONE = RegularizerSettings(rdrop=0, adversarial=0, adversarial_epsilon=0.1)
SETTINGS = TrainingSettings(
    epochs=40,
    patience=8,
    evaluations_per_epoch=1,
    batch_size=16,
    min_batch_size_batchwise=64,
    learning_rate=0.02,
    weight_decay=0.0,
    max_grad_norm=1.0,
    warmup=0.0,
    schedule="constant_with_warmup",
    soft_targets_from_step=0,
    precision="auto",
    compile=False,
    gradient_checkpointing=False,
    processes=1,
    threads=1,
    regularizers=NONE,
)


def separable(rows: int, seed: int, **context) -> SplitDataset:
    """Labels that are signs of single features."""
    features = np.random.default_rng(seed).normal(size=(rows, 4)).astype(np.float32)
    targets = (features[:, :3] > 0).astype(np.float32)
    return SplitDataset({"embeddings": features}, targets, np.arange(rows), context=context)


def judge(targets, logits):
    return judge_epoch(targets, logits, grid=threshold_grid(0.4, 0.6, 0.01))


STATISTICS = LabelStatistics(frequencies=[50, 50, 50], documents=100, mu=0.4)


def network(loss, dropout=0.0, regularizers=NONE, **options):
    return ModelWithLoss(
        Probe(embedding_dim=4, num_labels=3, hidden_dim=0, dropout=dropout),
        loss,
        regularizers=regularizers,
        **options,
    )


def train(
    loss="bce", seed=1, make_network=None, documents=None, changed=None, metrics=judge, **options
):
    return fit(
        make_network or (lambda: network(build_loss(loss, STATISTICS))),
        documents or separable(100, seed=0),
        separable(60, seed=1),
        settings=SETTINGS.model_copy(update=changed or {}),
        compute_metrics=metrics,
        name=loss,
        seed=seed,
        **options,
    )


def scores_of(module, weights, features):
    arrays = {name: weight.numpy() for name, weight in weights.items()}
    inputs = Embeddings(np.asarray(features, dtype=np.float32), np.arange(len(features)))
    return predict_scores(load_weights(module, arrays), inputs)


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
    assert [event.epoch for event in heard[1:]] == [1, 2, 3]
    assert isinstance(heard[1], EpochEnded)
    assert [event.evaluation for event in heard[1:]] == [1, 2, 3]
    recorded = fitted.history.drop(columns="epoch").to_dict("records")
    assert [event.metrics for event in heard[1:]] == recorded
    train(changed={"epochs": 1})
    assert len(heard) == 4


class BlowsUp(Loss):
    """A loss that turns infinite at one of its batches."""

    def __init__(self, at=3):
        super().__init__()
        self.at, self.calls = at, 0

    def forward(self, logits, targets, context=None):
        self.calls += 1
        return logits.sum() * (float("inf") if self.calls == self.at else 1.0)


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


def test_parameters_of_a_loss_are_optimized_with_the_model():
    loss = Scaled()
    train("scaled", make_network=lambda: network(loss), changed={"epochs": 3})
    assert loss.scale.item() != 1.0


class Remembers(Loss):
    """Keeps what the trainer hands it."""

    def forward(self, logits, targets, context=None):
        for name, value in {
            "seen": dict(context or {}),
            "rows": len(logits),
            "truths": targets,
            "types": logits.dtype,
        }.items():
            setattr(self, name, [*getattr(self, name, []), value])
        return logits.square().mean()


def test_losses_are_told_the_epoch_and_given_a_second_pass_where_they_need_one():
    loss = Remembers()
    make = lambda: network(loss, dropout=0.5, needs_second_pass=True)  # noqa: E731
    train("remembers", make_network=make, changed={"epochs": 2})
    in_training = [context for context in loss.seen if context]
    assert sorted({context["epoch"] for context in in_training}) == [0, 1]
    assert all(context["second_logits"].shape[1] == 3 for context in in_training)


def test_learned_parameters_and_random_state_of_a_loss_come_back_with_the_weights():
    fitted = train("tlpr", changed={"epochs": 3})
    fresh = network(build_loss("tlpr"))
    scores_of(fresh, fitted.weights, np.zeros((1, 4)))
    assert fresh.loss.move.item() == fitted.weights["loss.move"].item() != 0


@pytest.mark.parametrize("weights", [{"rdrop": 1.0}, {"adversarial": 1.0}])
def test_regularizers_ask_for_agreement(weights):
    batch = separable(40, seed=0).batch(np.arange(40))
    plain = network(build_loss("bce"), dropout=0.5).train()
    strict = network(
        build_loss("bce"), dropout=0.5, regularizers=NONE.model_copy(update=weights)
    ).train()
    strict.load_state_dict(plain.state_dict())
    values = {}
    for name, module in {"plain": plain, "strict": strict}.items():
        torch.manual_seed(0)
        values[name] = torch.stack([module(**batch) for _ in range(20)]).mean()
    assert values["strict"] > values["plain"]
    (values["strict"] - values["plain"]).backward()
    assert strict.model.layers[1].weight.grad.isfinite().all()
    strict.eval()
    assert strict(**batch) == plain.eval()(**batch)


def test_fewer_documents_than_a_batch_are_told_of(caplog):
    loss = Remembers()
    make = lambda: network(loss)  # noqa: E731
    few = separable(10, seed=0)
    train("remembers", make_network=make, documents=few, changed={"epochs": 1}, batchwise=True)
    assert loss.rows[0] == 10
    assert "only 10 training documents for batches of 64" in caplog.text


def test_gradient_checkpointing_without_effect_is_warned_of(caplog):
    trainer_of(network(build_loss("bce")), gradient_checkpointing=True)
    assert "Probe has no layers to checkpoint" in caplog.text


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


def test_half_epochs_are_judged_and_counted():
    fitted = train(changed={"epochs": 3, "evaluations_per_epoch": 2})
    assert fitted.history["epoch"].tolist() == [0.5, 1, 1.5, 2, 2.5, 3]


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("constant_with_warmup", [1 / 3, 2 / 3, 1, 1, 1, 1, 1, 1, 1, 1]),
        ("linear", [1 / 3, 2 / 3, *(1 - step / 8 for step in range(8))]),
        ("cosine", [1 / 3, 2 / 3, *((1 + np.cos(np.pi * step / 8)) / 2 for step in range(8))]),
    ],
)
def test_learning_rate_warms_up_and_follows_its_schedule(schedule, expected):
    settings = SETTINGS.model_copy(update={"schedule": schedule, "warmup": 0.2})
    assert [learning_rate_factor(settings, step, 10) for step in range(10)] == pytest.approx(
        expected
    )


def test_steps_are_taken_at_the_rate_of_the_schedule():
    trainer = trainer_of(network(build_loss("bce")), epochs=1, schedule="linear", warmup=0.4)
    rates = []
    trainer.optimizer.register_step_pre_hook(
        lambda taken, *_: rates.extend(group["lr"] for group in taken.param_groups)
    )
    trainer.train_on(*trainer.epoch_parts(), 0)
    shares = [1 / 3, 2 / 3, 1, 3 / 4, 1 / 2, 1 / 4]
    assert rates == pytest.approx([SETTINGS.learning_rate * s for s in shares for _ in range(2)])


def test_a_training_begins_with_its_longest_documents():
    lengths = np.random.default_rng(0).permutation(100) + 1
    features = {
        "ids": np.ones(lengths.sum(), dtype=np.uint16),
        "offsets": np.append(0, lengths.cumsum()),
        "pad": np.zeros(1, dtype=int),
    }
    documents = SplitDataset(features, np.zeros((100, 3), dtype=np.float32), np.arange(100))
    for seed in range(5):
        module = network(build_loss("bce"))
        trainer = Trainer(module, documents, settings=SETTINGS, batch_size=16, seed=seed, title="")
        (batches,) = trainer.epoch_parts()
        assert 100 in lengths[batches[0]]
        assert sorted(np.concatenate(batches)) == list(range(100))


@pytest.mark.parametrize(
    ("weights", "passes"),
    [
        ({}, [torch.bfloat16]),
        ({"rdrop": 1.0}, [torch.bfloat16] * 2),
        ({"adversarial": 1.0}, [torch.bfloat16, torch.float32, torch.bfloat16]),
    ],
)
def test_half_precision_is_for_the_model_and_not_for_the_loss(weights, passes):
    loss, computed = Remembers(), []
    module = network(loss, regularizers=NONE.model_copy(update=weights))
    module.model.layers.register_forward_hook(lambda *call: computed.append(call[-1].dtype))
    changed = {"epochs": 1, "precision": "bfloat16"}
    train("remembers", make_network=lambda: module, changed=changed)
    assert computed[: len(passes)] == passes
    assert computed[-1] == torch.bfloat16
    assert set(loss.types) == {torch.float32}


def test_what_a_failed_training_leaves_can_be_replayed(tmp_path):
    with pytest.raises(
        NonFiniteLossError, match=r"the loss is (inf|-inf); logits from -?\d"
    ) as told:
        train(
            "blows",
            make_network=lambda: network(BlowsUp()),
            labels=["a", "b", "c"],
            failures=tmp_path,
        )
    assert str(tmp_path / "seed_1") in str(told.value)
    batch = load_file(tmp_path / "seed_1/batch.safetensors")
    fault = json.loads((tmp_path / "seed_1/fault.json").read_text())
    assert fault["steps_done"] == 2
    assert fault["epoch"] == 0
    rows = [int(name) for name in fault["documents"]]
    assert torch.equal(batch["features"], separable(100, seed=0).inputs(np.array(rows))["features"])
    module = network(BlowsUp(at=1)).train()
    module.load_state_dict(load_file(tmp_path / "seed_1/weights.safetensors"))
    again = module({"features": batch["features"]}, batch["targets"], {})
    assert str(again.item()) in str(told.value)
    size = module.last_logits.abs()
    named = re.search(r"documents (.+) and labels (.+?);", str(told.value))
    assert named[1] == ", ".join(str(rows[i]) for i in size.amax(1).topk(5).indices)
    assert named[2] == ", ".join("abc"[i] for i in size.amax(0).topk(3).indices)


def test_best_weights_stay_when_a_later_epoch_fails(tmp_path):
    with pytest.raises(NonFiniteLossError, match="validation after step 6"):
        train("blows", make_network=lambda: network(BlowsUp(at=7)), failures=tmp_path)
    with pytest.raises(NonFiniteLossError, match="step 7"):
        train("blows", make_network=lambda: network(BlowsUp(at=8)), failures=tmp_path)
    assert "model.layers.1.weight" in load_file(tmp_path / "seed_1/best.safetensors")
    with pytest.raises(NonFiniteLossError, match="step 1"):
        train("blows", make_network=lambda: network(BlowsUp(at=1)), failures=tmp_path)
    assert not (tmp_path / "seed_1/best.safetensors").exists()


def test_logits_that_failed_are_told_as_they_were():
    module = network(build_loss("bce"))

    def spoil(layers, inputs, logits):
        logits = logits * 0 + torch.tensor([-2.0, 5.0, 1.0])
        logits[0] = torch.tensor([torch.nan, torch.inf, torch.inf])
        return logits

    module.model.layers.register_forward_hook(spoil)
    with pytest.raises(NonFiniteLossError, match="logits from -2 to 5, 1 NaN, 2 infinite, largest"):
        train("bce", make_network=lambda: module)


class Steep(Loss):
    """A finite loss whose gradient is not, from one of its batches on."""

    def __init__(self, start=3):
        super().__init__()
        self.start, self.calls = start, 0

    def forward(self, logits, targets, context=None):
        self.calls += 1
        return (logits * 0 if self.calls >= self.start else logits.square() + 1).sqrt().mean()


@pytest.mark.parametrize(
    ("precision", "step"), [("float32", 3), ("float16", 3 + MAX_SKIPPED_STEPS)]
)
def test_a_gradient_that_is_not_finite_stops_the_training(precision, step, tmp_path):
    changed = {"precision": precision, "batch_size": 2}
    with pytest.raises(NonFiniteLossError, match=f"step {step}: the norm of the gradient is nan"):
        train("steep", make_network=lambda: network(Steep()), changed=changed, failures=tmp_path)
    kept = load_file(tmp_path / "seed_1/weights.safetensors")
    assert all(weight.isfinite().all() for weight in kept.values())


def trainer_of(module, **changed):
    settings = SETTINGS.model_copy(update=changed)
    return Trainer(
        module, separable(100, seed=0), settings=settings, batch_size=16, seed=0, title=""
    )


def test_gradients_are_clipped():
    module = network(Scaled())
    module.loss.scale.data.fill_(1e4)
    trainer = trainer_of(module, max_grad_norm=0.25)
    norms = []
    trainer.optimizer.register_step_pre_hook(
        lambda *_: norms.extend(parameter.grad.norm() for parameter in module.parameters())
    )
    trainer.train_on([np.arange(16)], 0)
    assert torch.stack(norms).norm().item() == pytest.approx(0.25, rel=1e-4)


def test_matrices_decay_and_biases_norms_and_losses_do_not():
    module = network(Scaled())
    module.model.layers.append(torch.nn.LayerNorm(3))
    names = {parameter: name for name, parameter in module.named_parameters()}
    groups = build_optimizer(module, SETTINGS.model_copy(update={"weight_decay": 0.1})).param_groups
    decay = {names[p]: group["weight_decay"] for group in groups for p in group["params"]}
    assert decay.pop("model.layers.1.weight") == 0.1
    left = ["loss.scale", "model.layers.1.bias", "model.layers.2.bias", "model.layers.2.weight"]
    assert sorted(decay) == left
    assert set(decay.values()) == {0.0}


@pytest.mark.parametrize("asked", [True, False])
def test_a_model_is_compiled_where_it_is_asked_for(asked, monkeypatch):
    compiled = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda *module, **how: compiled.append(how))
    trainer_of(network(build_loss("bce")), compile=asked)
    assert compiled == ([{"dynamic": True}] if asked else [])


def test_an_epoch_has_no_more_parts_than_batches():
    fitted = train(changed={"epochs": 2, "batch_size": 50, "evaluations_per_epoch": 5})
    assert fitted.history["epoch"].tolist() == [0.5, 1, 1.5, 2]
    assert (fitted.history["train_loss"] > 0).all()


def test_large_targets_are_judged_without_being_made_dense(monkeypatch):
    monkeypatch.setattr("losslab.training.batches.MAX_DENSE_BYTES", 0)
    dense = separable(600, seed=1)
    targets = sparse.csr_array(dense.targets.dense())
    features = dense.inputs(np.arange(600))["features"].numpy()
    large = SplitDataset({"embeddings": features}, targets, np.arange(600))
    seen = []

    def look(truth, scores):
        seen.append((truth, scores))
        return judge(truth, scores)

    trainer = trainer_of(network(build_loss("bce")))
    assert trainer.evaluate(large, look) == trainer.evaluate(dense, look)
    (truth, scores), (_, again) = seen
    assert sparse.issparse(truth)
    assert scores.dtype == np.float32
    np.testing.assert_array_equal(scores, again)
    logits = trainer.network.model(**dense.inputs(np.arange(600))).detach()
    np.testing.assert_allclose(scores, logits.sigmoid(), rtol=1e-6)


class Travels(Loss):
    """Scores logits of the device it was moved to, and no others."""

    device = "cpu"

    def _apply(self, move, recurse=True):
        self.device = move(torch.zeros(())).device.type
        return super()._apply(move, recurse)

    def scores(self, logits):
        assert logits.device.type == self.device
        return logits


class Elsewhere(Probe):
    """A model that answers from any device."""

    def forward(self, **inputs):
        return torch.ones(len(inputs["features"]), 3)


def test_scores_are_made_on_the_cpu_wherever_the_network_is(monkeypatch):
    monkeypatch.setattr("losslab.training.network.default_device", lambda: torch.device("meta"))
    model = Elsewhere(embedding_dim=4, num_labels=3, hidden_dim=0, dropout=0.0)
    module = ModelWithLoss(model, Travels(), regularizers=NONE)
    inputs = Embeddings(np.zeros((2, 4), dtype=np.float32), np.arange(2))
    assert predict_scores(module, inputs).tolist() == [[1.0] * 3] * 2
