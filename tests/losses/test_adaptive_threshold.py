import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from loss_cases import as_tensors, batches, draw_batch, mean, sigmoid, slow_bce, value_and_gradient
from torch.nn import functional as F  # noqa: N812

from losslab.losses import build_loss


def slow_atl(scores, thresholds, targets):
    """In scores z and thresholds t, as the paper has it."""
    totals = []
    for row, t, carried in zip(scores, thresholds, targets, strict=True):
        pairs = list(zip(row, carried, strict=True))
        above = sum(math.exp(z) for z, y in pairs if y) + math.exp(t)
        below = sum(math.exp(z) for z, y in pairs if not y) + math.exp(t)
        of_labels = -sum(math.log(math.exp(z) / above) for z, y in pairs if y)
        totals.append(of_labels - math.log(math.exp(t) / below))
    return mean(totals)


def slow_ncrl(scores, thresholds, targets, shift):
    def entry(margin, y):
        if y or not shift:
            return slow_bce(margin, y)
        return -math.log(min(1 - sigmoid(margin) + shift, 1))

    totals = []
    for row, t, carried in zip(scores, thresholds, targets, strict=True):
        of_labels = sum(entry(z - t, y) for z, y in zip(row, carried, strict=True))
        totals.append(of_labels + entry(t - mean(row), not any(carried)))
    return mean(totals)


def margins_of(batch, thresholds):
    logits, targets = as_tensors(batch)
    t = torch.tensor(thresholds[: len(logits)], dtype=torch.float64)
    return logits - t.unsqueeze(1), targets


thresholds = st.lists(st.floats(-5, 5), min_size=5, max_size=5)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(batch=batches(), ts=thresholds)
def test_atl_is_its_equation(batch, ts):
    value = build_loss("atl")(*margins_of(batch, ts))
    expected = slow_atl(batch[0], ts[: len(batch[0])], batch[1])
    assert value.item() == pytest.approx(expected, rel=1e-7, abs=1e-9)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(batch=batches(), ts=thresholds, shift=st.sampled_from([0.0, 0.01, 0.1]))
def test_ncrl_is_its_equation(batch, ts, shift):
    value = build_loss("ncrl", shift=shift)(*margins_of(batch, ts))
    expected = slow_ncrl(batch[0], ts[: len(batch[0])], batch[1], shift)
    assert value.item() == pytest.approx(expected, rel=1e-7, abs=1e-9)


def test_atl_of_one_positive_a_document_is_zlpr():
    """Then no positives compete: log(1 + e^-u) + log(1 + sum of e^u over negatives)."""
    logits, _ = draw_batch(labels=5)
    targets = torch.eye(5, dtype=torch.float64)
    torch.testing.assert_close(
        value_and_gradient(build_loss("atl"), logits, targets),
        value_and_gradient(build_loss("zlpr"), logits, targets),
    )


def test_ncrl_is_bce_of_the_labels_and_of_the_none_class():
    logits, targets = draw_batch()
    targets[1] = 0
    none = -logits.mean(dim=1)
    unlabelled = (targets.sum(dim=1) == 0).double()
    expected = 6 * build_loss("bce")(logits, targets)
    expected += F.binary_cross_entropy_with_logits(none, unlabelled)
    torch.testing.assert_close(build_loss("ncrl")(logits, targets), expected)


@pytest.mark.parametrize("name", ["atl", "ncrl"])
def test_a_label_is_predicted_above_the_threshold_of_its_document(name):
    margins, _ = draw_batch()
    loss = build_loss(name)
    assert loss.threshold_logit
    assert torch.equal(loss.scores(margins) > 0.5, margins > 0)
