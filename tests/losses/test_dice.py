import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from loss_cases import as_tensors, batches, draw_batch, mean, sigmoid

from losslab.losses import build_loss
from losslab.losses.dice import dice


def slow_dice1(logits, targets, g):
    def entry(p, y):
        return 1 - (2 * p + g) / (p * p + 1 + g) if y else 1 - g / (p * p + g)

    return mean(
        sum(entry(sigmoid(z), y) for z, y in zip(row, carried, strict=True))
        for row, carried in zip(logits, targets, strict=True)
    )


def slow_dice2(logits, targets, g):
    total = 0.0
    for scores, carried in zip(zip(*logits, strict=True), zip(*targets, strict=True), strict=True):
        p = [sigmoid(z) for z in scores]
        overlap = sum(a * b for a, b in zip(p, carried, strict=True))
        total += 1 - (2 * overlap + g) / (sum(a * a for a in p) + sum(carried) + g)
    return total


@settings(deadline=None, derandomize=True, max_examples=50)
@given(batch=batches(), smooth=st.sampled_from([0.1, 1.0, 3.0]))
@pytest.mark.parametrize(("name", "slow"), [("dice1", slow_dice1), ("dice2", slow_dice2)])
def test_dice_is_its_equation(name, slow, batch, smooth):
    value = build_loss(name, smooth=smooth)(*as_tensors(batch))
    assert value.item() == pytest.approx(slow(*batch, smooth), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "rows", "warns"), [("dice2", 255, 1), ("dice2", 256, 0), ("dice1", 5, 0)]
)
def test_a_small_batch_is_warned_of_where_it_is_judged_as_a_whole(name, rows, warns, recwarn):
    loss = build_loss(name)
    loss.eval()(*draw_batch(rows=rows))
    assert len(recwarn) == 0
    loss.train()(*draw_batch(rows=rows))
    assert [str(w.message) for w in recwarn] == [
        f"{name}: a batch below 256 documents is small for a loss over batches"
    ] * warns


def test_batch_dice_of_one_document_is_dice_per_entry():
    batch = draw_batch(rows=1)
    torch.testing.assert_close(build_loss("dice2")(*batch), build_loss("dice1")(*batch))


@pytest.mark.parametrize(("name", "over_batch"), [("dice1", False), ("dice2", True)])
def test_function_is_the_module(name, over_batch):
    batch = draw_batch()
    value = dice(*batch, smooth=1.0, over_batch=over_batch)
    assert value == build_loss(name)(*batch)
