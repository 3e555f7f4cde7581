import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from loss_cases import as_tensors, batches, draw_batch, mean, sigmoid, value_and_gradient

from losslab.losses import build_loss
from losslab.losses.divergence import bernoulli_divergence, symmetric_divergence
from losslab.losses.zlpr import threshold_ranking, zlpr_divergence, zlpr_symmetric_divergence


def slow_zlpr(logits, targets, s0=0.0):
    """Any targets in [0, 1]: a hard one is a weight of 0 or 1."""
    totals = []
    for row, carried in zip(logits, targets, strict=True):
        pairs = list(zip(row, carried, strict=True))
        below = math.exp(-s0) + sum(t * math.exp(-s) for s, t in pairs)
        above = math.exp(s0) + sum((1 - t) * math.exp(s) for s, t in pairs)
        totals.append(math.log(below) + math.log(above))
    return mean(totals)


def slow_divergence(first, second):
    """KL of the distributions over labels, one Bernoulli at a time."""
    total = 0.0
    for s, other in zip(first, second, strict=True):
        q, r = sigmoid(2 * s), sigmoid(2 * other)
        total += q * math.log(q / r) + (1 - q) * math.log((1 - q) / (1 - r))
    return total


@settings(deadline=None, derandomize=True, max_examples=60)
@given(batch=batches(), s0=st.floats(-3, 3))
def test_tlpr_is_its_equation(batch, s0):
    value = build_loss("tlpr", s0=s0)(*as_tensors(batch))
    assert value.item() == pytest.approx(slow_zlpr(*batch, s0), rel=1e-6, abs=1e-6)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(batch=batches())
@pytest.mark.parametrize("name", ["zlpr", "soft_zlpr", "tlpr"])
def test_hard_targets_give_zlpr_in_each_of_its_forms(name, batch):
    value = build_loss(name)(*as_tensors(batch))
    assert value.item() == pytest.approx(slow_zlpr(*batch), rel=1e-9, abs=1e-9)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(batch=batches(), seed=st.integers(0, 100))
def test_soft_zlpr_is_its_equation(batch, seed):
    logits, targets = as_tensors(batch)
    soft = torch.rand(targets.shape, generator=torch.Generator().manual_seed(seed)).double()
    value = build_loss("soft_zlpr")(logits, soft)
    assert value.item() == pytest.approx(slow_zlpr(batch[0], soft.tolist()), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("weight", [0.0, 1.0, 2.5])
def test_rdrop_is_the_mean_of_both_passes_and_half_their_divergence(weight):
    first, targets = draw_batch()
    second, _ = draw_batch(seed=3)
    first, second = first / 3, second / 3
    passes = [slow_zlpr(z.tolist(), targets.tolist()) for z in (first, second)]
    rows = zip(first.tolist(), second.tolist(), strict=True)
    both_ways = mean(slow_divergence(a, b) + slow_divergence(b, a) for a, b in rows)
    value = build_loss("zlpr_rdrop", weight=weight)(first, targets, {"second_logits": second})
    assert value.item() == pytest.approx(mean(passes) + weight * both_ways / 2, rel=1e-9)


def test_rdrop_of_equal_passes_is_zlpr():
    logits, targets = draw_batch()
    value = build_loss("zlpr_rdrop")(logits, targets, {"second_logits": logits})
    torch.testing.assert_close(value, build_loss("zlpr")(logits, targets))


def test_rdrop_sends_a_gradient_through_both_passes():
    logits, targets = draw_batch()
    second = (logits + 1).requires_grad_()
    loss = build_loss("zlpr_rdrop")
    _, gradient = value_and_gradient(loss, logits, targets, {"second_logits": second})
    mirrored = value_and_gradient(loss, second.detach(), targets, {"second_logits": logits})
    torch.testing.assert_close(second.grad, mirrored[1])
    assert gradient.any()


@pytest.mark.parametrize("divergence", [zlpr_divergence, bernoulli_divergence])
def test_divergence_is_kl_and_its_symmetric_form_is_both_ways(divergence):
    first, second = (draw_batch(seed=seed)[0] / 3 for seed in (0, 3))
    zlpr = divergence is zlpr_divergence
    symmetric = zlpr_symmetric_divergence if zlpr else symmetric_divergence
    halves = 1 if zlpr else 2  # slow_divergence doubles the scores
    rows = zip((first / halves).tolist(), (second / halves).tolist(), strict=True)
    slow = torch.tensor([slow_divergence(a, b) for a, b in rows], dtype=torch.float64)
    torch.testing.assert_close(divergence(first, second), slow)
    both_ways = divergence(first, second) + divergence(second, first)
    torch.testing.assert_close(symmetric(first, second), both_ways)


@pytest.mark.parametrize("s0", [-1.0, 0.0, 0.7])
def test_tlpr_learns_its_threshold(s0):
    logits, targets = draw_batch()
    loss = build_loss("tlpr", s0=s0)
    loss(logits, targets).backward()
    near = [build_loss("tlpr", s0=s0 + step)(logits, targets).item() for step in (1e-4, -1e-4)]
    assert loss.move.grad.item() == pytest.approx((near[0] - near[1]) / 2e-4, abs=1e-5)


def test_tlpr_with_a_moved_threshold_is_the_one_that_starts_there():
    logits, targets = draw_batch()
    moved, started = build_loss("tlpr", s0=0.5), build_loss("tlpr", s0=0.75)
    with torch.no_grad():
        moved.move.fill_(0.25)
    assert moved(logits, targets) == started(logits, targets)
    assert torch.equal(moved.scores(logits), started.scores(logits))


@pytest.mark.parametrize(
    ("name", "options", "cut"),
    [
        ("zlpr", {}, 0.0),
        ("soft_zlpr", {}, 0.0),
        ("zlpr_rdrop", {}, 0.0),
        ("tlpr", {"s0": 0.5}, 0.5),
    ],
)
def test_scores_are_the_sigmoid_of_twice_the_distance_to_the_threshold(name, options, cut):
    logits, _ = draw_batch()
    scores = build_loss(name, **options).scores(logits)
    torch.testing.assert_close(scores, torch.sigmoid(2 * (logits - cut)))
    assert torch.equal(scores > 0.5, logits > cut)


def test_function_gives_the_value_of_each_document():
    logits, targets = draw_batch()
    value = threshold_ranking(logits, targets)
    assert value.shape == (5,)
    assert value.mean() == build_loss("zlpr")(logits, targets)


@pytest.mark.parametrize("s0", [-2.0, 0.0, 0.75])
def test_divergence_of_tlpr_is_that_of_its_probabilities(s0):
    first, second = (draw_batch(seed=seed)[0] / 3 for seed in (0, 3))
    rows = zip((first - s0).tolist(), (second - s0).tolist(), strict=True)
    slow = [slow_divergence(a, b) + slow_divergence(b, a) for a, b in rows]
    expected = torch.tensor(slow, dtype=torch.float64)
    torch.testing.assert_close(build_loss("tlpr", s0=s0).divergence(first, second), expected)


def test_soft_zlpr_is_trained_on_the_soft_targets_of_the_context():
    logits, targets = draw_batch()
    soft = torch.rand(5, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    loss = build_loss("soft_zlpr")
    trained = value_and_gradient(loss, logits, targets, {"soft_targets": soft})
    torch.testing.assert_close(trained, value_and_gradient(loss, logits, soft))
    assert trained[0] != build_loss("zlpr")(logits, targets)
    assert loss(logits, targets, {"soft_targets": None}) == build_loss("zlpr")(logits, targets)
    assert loss.eval()(logits, targets, {"soft_targets": soft}) == loss(logits, targets)


def test_soft_zlpr_refuses_soft_targets_outside_the_unit_interval():
    logits, targets = draw_batch()
    with pytest.raises(ValueError, match=r"^soft_zlpr: context\['soft_targets'\] must lie in"):
        build_loss("soft_zlpr")(logits, targets, {"soft_targets": 2 * targets})
