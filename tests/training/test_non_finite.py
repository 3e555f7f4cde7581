"""Losses and gradients that become NaN or infinite."""

import json
import re

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from small_training import (
    network,
    separable,
    train,
)

from losslab.errors import NonFiniteLossError
from losslab.losses import build_loss
from losslab.losses.base import Loss
from losslab.training.trainer import (
    MAX_SKIPPED_STEPS,
)


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
