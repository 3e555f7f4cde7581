import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from loss_cases import as_tensors, batches, draw_batch, mean, sigmoid, softplus, value_and_gradient
from torch.autograd import gradcheck

from losslab.losses import build_loss
from losslab.losses.partial_labels import hill_entries


def slow_focal_margin(z, gamma, margin):
    return sigmoid(margin - z) ** gamma * softplus(margin - z)


def slow_mean(entry, logits, targets):
    return mean(
        entry(z, y)
        for row, carried in zip(logits, targets, strict=True)
        for z, y in zip(row, carried, strict=True)
    )


def slow_hill(logits, targets, gamma, margin, level):
    def entry(z, y):
        if y:
            return slow_focal_margin(z, gamma, margin)
        return (level - sigmoid(z)) * sigmoid(z) ** 2

    return slow_mean(entry, logits, targets)


def slow_splc(logits, targets, gamma, margin, threshold, corrected):
    def entry(z, y):
        if y:
            return slow_focal_margin(z, gamma, margin)
        if corrected and sigmoid(z) > threshold:
            return slow_focal_margin(z, gamma, 0.0)
        return sigmoid(z) ** gamma * softplus(z)

    return slow_mean(entry, logits, targets)


def slow_llr(logits, targets, share):
    """Every loss with its label; of the negatives the largest are struck out."""
    entries = [
        (softplus(-z) if y else softplus(z), y)
        for row, carried in zip(logits, targets, strict=True)
        for z, y in zip(row, carried, strict=True)
    ]
    negatives = sorted(loss for loss, y in entries if not y)
    count = math.ceil(round(share * len(entries), 6))
    kept = negatives[: len(negatives) - count] if count < len(negatives) else []
    return (sum(kept) + sum(loss for loss, y in entries if y)) / len(entries)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    batch=batches(),
    gamma=st.sampled_from([0.0, 1.0, 2.0]),
    margin=st.sampled_from([0.0, 1.0]),
    level=st.sampled_from([1.0, 1.5]),
)
def test_hill_is_its_equation(batch, gamma, margin, level):
    value = build_loss("hill", gamma=gamma, margin=margin, level=level)(*as_tensors(batch))
    expected = slow_hill(*batch, gamma, margin, level)
    assert value.item() == pytest.approx(expected, rel=1e-7, abs=1e-9)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    batch=batches(),
    gamma=st.sampled_from([0.0, 2.0]),
    threshold=st.sampled_from([0.35, 0.6]),
    epoch=st.integers(0, 3),
)
def test_splc_is_its_equation(batch, gamma, threshold, epoch):
    loss = build_loss("splc", gamma=gamma, threshold=threshold, start_epoch=2)
    value = loss(*as_tensors(batch), {"epoch": epoch})
    expected = slow_splc(*batch, gamma, 1.0, threshold, corrected=epoch >= 2)
    assert value.item() == pytest.approx(expected, rel=1e-7, abs=1e-9)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(batch=batches(), epoch=st.integers(0, 4), limit=st.sampled_from([0.25, 1.0]))
def test_llr_is_its_equation(batch, epoch, limit):
    value = build_loss("llr", rate=0.1, limit=limit)(*as_tensors(batch), {"epoch": epoch})
    expected = slow_llr(*batch, min(0.1 * epoch, limit))
    assert value.item() == pytest.approx(expected, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize(
    ("name", "options"),
    [("splc", {"start_epoch": 0}), ("splc", {"start_epoch": 9}), ("llr", {"rate": 0.2})],
)
def test_gradient_in_training_is_the_derivative_of_the_value(name, options):
    logits, targets = draw_batch(rows=3)
    loss = build_loss(name, **options, **({"limit": 1.0} if name == "llr" else {}))
    assert gradcheck(lambda z: loss(z, targets, {"epoch": 1}), logits.requires_grad_())


def test_the_hill_is_flat_where_the_model_is_sure():
    """At lambda 1.5, with a slope of p^2 (1 - p) 3 (1 - p): largest at p = 1/2."""
    logits = torch.tensor([[-20.0, 0.0, 20.0]], dtype=torch.float64)
    entries, slopes = hill_entries(logits, 1.5)
    torch.testing.assert_close(entries, torch.tensor([[0.0, 0.25, 0.5]]).double())
    torch.testing.assert_close(slopes, torch.tensor([[0.0, 3 / 16, 0.0]]).double())


def test_splc_without_margin_before_it_starts_is_focal():
    batch = draw_batch()
    torch.testing.assert_close(
        value_and_gradient(build_loss("splc", margin=0.0), *batch, {"epoch": 0}),
        value_and_gradient(build_loss("focal"), *batch),
    )


def test_splc_pulls_up_the_negatives_it_corrects():
    logits, targets = torch.full((1, 1), 2.0), torch.zeros(1, 1)
    before = value_and_gradient(build_loss("splc"), logits, targets, {"epoch": 0})
    after = value_and_gradient(build_loss("splc"), logits, targets, {"epoch": 1})
    positive = value_and_gradient(build_loss("focal"), logits, targets + 1)
    assert before[1] > 0
    torch.testing.assert_close(after, positive)


def test_splc_and_llr_remember_the_epoch_for_evaluation_and_for_calls_without_one():
    logits, targets = draw_batch()
    for name, options in (("splc", {}), ("llr", {"rate": 0.1, "limit": 1.0})):
        loss = build_loss(name, **options)
        fresh = loss(logits, targets)
        late = loss(logits, targets, {"epoch": 4})
        assert fresh != late == loss(logits, targets)
        evaluated = loss.eval()(logits, targets, {"epoch": 0})
        assert evaluated == (late if name == "splc" else build_loss("bce")(logits, targets))


def test_llr_is_bce_in_its_first_epoch():
    batch = draw_batch()
    torch.testing.assert_close(
        value_and_gradient(build_loss("llr"), *batch, {"epoch": 0}),
        value_and_gradient(build_loss("bce"), *batch),
    )


def test_llr_rejects_no_positive_and_with_ties_no_more_than_its_share():
    logits, targets = torch.zeros(2, 5), torch.zeros(2, 5)
    logits[0, 0], targets[0, 0] = -50.0, 1.0  # the largest loss of all is a positive's
    loss = build_loss("llr", rate=0.1, limit=1.0)
    _, gradient = value_and_gradient(loss, logits, targets, {"epoch": 3})
    assert gradient[0, 0] == pytest.approx(-0.1)
    assert int((gradient == 0).sum()) == 3
    _, gradient = value_and_gradient(loss, logits, targets, {"epoch": 100})
    assert gradient.nonzero().tolist() == [[0, 0]]


def test_llr_rejects_a_small_share_however_long_it_trains():
    logits, targets = torch.zeros(10, 100), torch.zeros(10, 100)
    _, gradient = value_and_gradient(build_loss("llr"), logits, targets, {"epoch": 1000})
    assert int((gradient == 0).sum()) == 18
