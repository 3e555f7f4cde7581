"""Optimizer steps, schedule, precision, validation."""

import numpy as np
import pytest
import torch
from scipy import sparse
from small_training import (
    NONE,
    SETTINGS,
    Remembers,
    Scaled,
    judge,
    network,
    separable,
    train,
    trainer_of,
)

from losslab.losses import build_loss
from losslab.training.batches import SplitDataset, count_batches, shuffled_batches
from losslab.training.trainer import (
    Trainer,
    build_optimizer,
    learning_rate_factor,
    max_epochs,
)


def test_gradient_checkpointing_without_effect_is_warned_of(caplog):
    trainer_of(network(build_loss("bce")), gradient_checkpointing=True)
    assert "Probe has no layers to checkpoint" in caplog.text


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
    trainer.train_on(*trainer.epoch_parts())
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


def test_gradients_are_clipped():
    module = network(Scaled())
    module.loss.scale.data.fill_(1e4)
    trainer = trainer_of(module, max_grad_norm=0.25)
    norms = []
    trainer.optimizer.register_step_pre_hook(
        lambda *_: norms.extend(parameter.grad.norm() for parameter in module.parameters())
    )
    trainer.train_on([np.arange(16)])
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


@pytest.mark.parametrize("documents", [5, 100, 640, 7769])
def test_a_loss_of_the_usual_batch_size_never_gets_more_epochs(documents):
    settings = SETTINGS.model_copy(update={"epochs": 5, "batch_size": 32, "min_steps": 10**6})
    steps = count_batches(documents, min(32, documents))
    assert max_epochs(settings, documents, steps) == 5


@pytest.mark.parametrize(
    ("epochs", "min_steps", "expected"),
    [
        (300, 0, 300),  # no floor
        (300, 3000, 1500),  # two steps an epoch until there are 3,000
        (300, 300, 300),  # 600 steps are more than the floor
        (5, 3000, 50),  # as many steps as the others have in five epochs, 100
    ],
)
def test_larger_batches_get_more_epochs_up_to_as_many_steps_as_others(epochs, min_steps, expected):
    changed = {"epochs": epochs, "batch_size": 32, "min_steps": min_steps}
    assert max_epochs(SETTINGS.model_copy(update=changed), 640, 2) == expected


@pytest.mark.parametrize(("documents", "size"), [(1, 1), (7, 3), (640, 32), (3301, 32), (500, 500)])
def test_batches_are_counted_as_they_are_made(documents, size):
    random = np.random.default_rng(0)
    batches = shuffled_batches(np.ones(documents, int), size, random=random)
    assert count_batches(documents, size) == len(batches)
