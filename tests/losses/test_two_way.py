import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from loss_cases import as_tensors, batches, draw_batch, mean, softplus, value_and_gradient

from losslab.losses import build_loss


def slow_one_way(logits, targets, tp, tn):
    """Of the sets that have a positive; one without a negative gives 0."""
    values = []
    for scores, carried in zip(logits, targets, strict=True):
        pairs = list(zip(scores, carried, strict=True))
        pull = sum(math.exp(-z / tp) for z, y in pairs if y)
        push = sum(math.exp(z / tn) for z, y in pairs if not y)
        if pull:
            values.append(softplus(tn * math.log(push) + tp * math.log(pull)) if push else 0.0)
    return mean(values) if values else 0.0


def slow_two_way(logits, targets, tp, tn):
    columns = ([*map(list, zip(*table, strict=True))] for table in (logits, targets))
    return slow_one_way(logits, targets, tp, tn) + slow_one_way(*columns, tp, tn)


@settings(deadline=None, derandomize=True, max_examples=80)
@given(batch=batches(), tp=st.sampled_from([0.5, 1.0, 4.0]), tn=st.sampled_from([0.5, 1.0, 2.0]))
def test_two_way_is_its_equation(batch, tp, tn):
    loss = build_loss("two_way", positive_temperature=tp, negative_temperature=tn).eval()
    assert loss(*as_tensors(batch)).item() == pytest.approx(
        slow_two_way(*batch, tp, tn), rel=1e-9, abs=1e-9
    )


def test_at_temperature_one_the_way_of_documents_is_lsep():
    """softplus(lse + lse) = log(1 + sum over pairs); a batch of one document has one way alone."""
    logits, targets = draw_batch(rows=1)
    targets[0, :2] = torch.tensor([0.0, 1.0])
    loss = build_loss("two_way", positive_temperature=1.0).eval()
    lsep = build_loss("lsep", pairs=10**6)
    torch.testing.assert_close(
        value_and_gradient(loss, logits, targets), value_and_gradient(lsep, logits, targets)
    )


def test_documents_and_labels_are_treated_alike():
    logits, targets = draw_batch()
    loss = build_loss("two_way").eval()
    torch.testing.assert_close(loss(logits, targets), loss(logits.T, targets.T))


def test_a_constant_added_to_all_logits_changes_nothing():
    logits, targets = draw_batch()
    loss = build_loss("two_way").eval()
    torch.testing.assert_close(loss(logits + 7, targets), loss(logits, targets))


def test_labels_and_documents_without_a_positive_are_left_out():
    logits, targets = draw_batch()
    targets[3:], targets[:, 4:] = 0, 0
    loss = build_loss("two_way").eval()
    value = slow_two_way(logits.tolist(), targets.tolist(), 4.0, 1.0)
    assert loss(logits, targets).item() == pytest.approx(value, rel=1e-9)
    nothing, gradient = value_and_gradient(loss, logits, torch.zeros_like(targets))
    assert nothing == 0
    assert not gradient.any()
