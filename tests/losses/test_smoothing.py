import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from loss_cases import as_tensors, batches, draw_batch, draw_context, mean, sigmoid, slow_bce
from torch.nn import functional as F  # noqa: N812

from losslab.losses import build_loss

NAMES = ["kwls", "ls_tfidf", "ls_classic", "ls_distill"]


def softmax(row):
    exponentials = [math.exp(z) for z in row]
    return [e / sum(exponentials) for e in exponentials]


def cross_entropy(row, carried):
    return -sum(t * math.log(q) for t, q in zip(carried, softmax(row), strict=True))


def slow_smoothing(logits, targets, soft, *, alpha, task, auxiliary):
    rows = []
    for row, carried, wanted in zip(logits, targets, soft, strict=True):
        if task == "single":
            hard = cross_entropy(row, carried)
        else:
            hard = sum(slow_bce(z, y) for z, y in zip(row, carried, strict=True))
        guess = softmax(row) if auxiliary == "softmax" else [sigmoid(z) for z in row]
        pull = sum((d - q) ** 2 for d, q in zip(wanted, guess, strict=True))
        rows.append(hard + alpha / len(row) * pull)
    return mean(rows) / (2 * (1 + alpha) ** 2)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    batch=batches(),
    alpha=st.sampled_from([0.0, 0.5, 1.0, 8.0]),
    task=st.sampled_from(["multi", "single"]),
    auxiliary=st.sampled_from(["softmax", "sigmoid"]),
    name=st.sampled_from(NAMES),
)
def test_smoothing_is_its_equation(batch, alpha, task, auxiliary, name):
    logits, targets = as_tensors(batch)
    soft = draw_context(*logits.shape)["soft_targets"]
    options = {"alpha": alpha, "task": task, "auxiliary": auxiliary}
    value = build_loss(name, **options)(logits, targets, {"soft_targets": soft})
    slow = slow_smoothing(*batch, soft.tolist(), **options)
    assert value.item() == pytest.approx(slow, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_hard_and_soft_loss_add_up_to_the_value_of_a_training_step(name):
    logits, targets = draw_batch()
    soft = draw_context()["soft_targets"]
    loss = build_loss(name, alpha=2.0)
    value = loss(logits.requires_grad_(), targets, {"soft_targets": soft})
    hard = mean(
        sum(slow_bce(z, y) for z, y in zip(row, carried, strict=True))
        for row, carried in zip(logits.tolist(), targets.tolist(), strict=True)
    )
    assert loss.parts["hard_loss"].item() == pytest.approx(hard / 18)
    assert sum(loss.parts.values()).item() == pytest.approx(value.item())
    assert not any(part.requires_grad for part in loss.parts.values())
    loss(logits, targets, {"soft_targets": None})
    assert loss.parts["soft_loss"] == 0
    before = dict(loss.parts)
    loss.eval()(2 * logits, targets)
    assert loss.parts == before


@settings(deadline=None, derandomize=True, max_examples=40)
@given(batch=batches(), soften=st.booleans())
def test_ce_is_its_equation(batch, soften):
    logits, targets = as_tensors(batch)
    targets = draw_context(*logits.shape)["soft_targets"] if soften else targets
    slow = mean(map(cross_entropy, batch[0], targets.tolist()))
    assert build_loss("ce")(logits, targets).item() == pytest.approx(slow, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_without_pull_multi_label_is_half_the_summed_bce(name):
    logits, targets = draw_batch()
    value = build_loss(name, alpha=0.0)(logits, targets, draw_context())
    torch.testing.assert_close(value, 6 * build_loss("bce")(logits, targets) / 2)


@pytest.mark.parametrize("name", NAMES)
def test_without_pull_single_label_is_half_the_cross_entropy(name):
    logits, _ = draw_batch()
    targets = F.one_hot(torch.tensor([0, 5, 2, 2, 1]), 6)
    value = build_loss(name, alpha=0.0, task="single")(logits, targets, draw_context())
    torch.testing.assert_close(value, build_loss("ce")(logits, targets) / 2)


@pytest.mark.parametrize("name", NAMES)
def test_evaluation_without_soft_targets_is_the_hard_loss(name):
    logits, targets = draw_batch()
    value = build_loss(name, alpha=1.0).eval()(logits, targets)
    torch.testing.assert_close(value, 6 * build_loss("bce")(logits, targets) / 8)


@pytest.mark.parametrize("name", NAMES)
def test_training_before_soft_targets_are_switched_on_is_the_hard_loss(name):
    logits, targets = draw_batch()
    value = build_loss(name, alpha=1.0).train()(logits, targets, {"soft_targets": None})
    torch.testing.assert_close(value, 6 * build_loss("bce")(logits, targets) / 8)
    with pytest.raises(ValueError, match="soft_targets"):
        build_loss(name, alpha=1.0).train()(logits, targets, {})


@pytest.mark.parametrize("name", NAMES)
def test_the_pull_is_nil_where_the_guess_is_the_soft_target(name):
    logits, targets = draw_batch()
    loss = build_loss(name)
    there = loss(logits, targets, {"soft_targets": torch.softmax(logits, dim=1)})
    torch.testing.assert_close(there, loss.eval()(logits, targets))


@pytest.mark.parametrize(
    ("name", "options", "single"),
    [("ce", {}, True), ("kwls", {"task": "single"}, True), ("kwls", {}, False)],
)
def test_scores_are_softmax_for_one_label_and_sigmoid_for_many(name, options, single):
    logits, _ = draw_batch()
    expected = torch.softmax(logits, dim=1) if single else torch.sigmoid(logits)
    torch.testing.assert_close(build_loss(name, **options).scores(logits), expected)


@pytest.mark.parametrize("name", ["ce", *NAMES])
def test_divergence_of_one_label_is_the_symmetric_kl_of_softmax(name):
    first, second = draw_batch()[0], draw_context()["second_logits"]
    slow = [
        sum((a - b) * math.log(a / b) for a, b in zip(softmax(row), softmax(other), strict=True))
        for row, other in zip(first.tolist(), second.tolist(), strict=True)
    ]
    loss = build_loss(name, **({} if name == "ce" else {"task": "single"}))
    expected = torch.tensor(slow, dtype=torch.float64)
    torch.testing.assert_close(loss.divergence(first, second), expected)


@pytest.mark.parametrize("name", NAMES)
def test_divergence_of_many_labels_is_that_of_bce(name):
    first, second = draw_batch()[0], draw_context()["second_logits"]
    expected = build_loss("bce").divergence(first, second)
    assert torch.equal(build_loss(name).divergence(first, second), expected)
