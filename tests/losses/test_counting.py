import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from loss_cases import (
    STATISTICS,
    as_tensors,
    batches,
    draw_batch,
    mean,
    sigmoid,
    slow_bce,
    softplus,
)

from losslab.losses import LabelStatistics, build_loss


def slow_count(logits, targets, weight, per_label):
    rows = list(zip(logits, targets, strict=True))
    bce = mean(slow_bce(z, y) for row, ys in rows for z, y in zip(row, ys, strict=True))
    surplus = mean((sum(map(sigmoid, row)) - sum(ys)) ** 2 for row, ys in rows)
    return bce + weight * surplus / (len(logits[0]) if per_label else 1)


class SlowTencent:
    """The counters and coefficients of one label after another, in plain Python."""

    def __init__(self, labels):
        self.with_positive, self.without = [0] * labels, [0] * labels

    def coefficient(self, label, present, selected):
        if present:
            self.with_positive[label] += 1
            self.without[label] = 0
            return max(0.01, math.log10(10 / (0.01 + self.with_positive[label])))
        self.with_positive[label] = 0
        if not selected:
            return 0.0
        self.without[label] += 1
        coefficient = math.log10(10 / (8 + self.without[label]))
        return coefficient if coefficient > 0.01 else 0.001

    def __call__(self, logits, targets, selected):
        total = 0.0
        for label, chosen in enumerate(selected):
            column = [(row[label], ys[label]) for row, ys in zip(logits, targets, strict=True)]
            cost = mean(12 * y * softplus(-z) + (1 - y) * softplus(z) for z, y in column)
            total += self.coefficient(label, any(y for _, y in column), chosen) * cost
        return total


@settings(deadline=None, derandomize=True, max_examples=50)
@given(batch=batches(), weight=st.sampled_from([0.0, 0.1, 2.0]), per_label=st.booleans())
def test_ce_count_is_its_equation(batch, weight, per_label):
    value = build_loss("ce_count", weight=weight, per_label=per_label)(*as_tensors(batch))
    assert value.item() == pytest.approx(slow_count(*batch, weight, per_label), rel=1e-9, abs=1e-9)


def test_ce_count_of_nothing_but_counts_falls_as_the_counts_come_closer():
    targets = torch.tensor([[1.0, 0.0, 0.0, 0.0]])
    heavy = build_loss("ce_count", weight=1e6)
    many, few = torch.zeros(1, 4), torch.full((1, 4), -math.log(3))  # sums of p: 2 and 1
    assert heavy(few, targets) < heavy(many, targets) / 1e4


@pytest.mark.parametrize("share", [0.05, 0.3], ids=["rare", "common"])
def test_ce_tencent_is_its_equation_from_batch_to_batch(share):
    generator = torch.Generator().manual_seed(0)
    loss, slow = build_loss("ce_tencent", STATISTICS), SlowTencent(6)
    for step in range(40):
        logits, _ = draw_batch(rows=4, seed=step)
        targets = (torch.rand(4, 6, generator=generator) < share).double()
        selected = torch.rand(6, generator=generator) < 0.5
        value = loss(logits, targets, {"selected": selected})
        expected = slow(logits.tolist(), targets.tolist(), selected.tolist())
        assert value.item() == pytest.approx(expected, rel=1e-9)
        assert loss.with_positive.tolist() == slow.with_positive
        assert loss.without.tolist() == slow.without


def test_ce_tencent_in_evaluation_selects_every_label():
    loss, slow = build_loss("ce_tencent", STATISTICS), SlowTencent(6)
    logits, targets = draw_batch()
    targets[:, :3] = 0
    selected = torch.tensor([True, False, True] * 2)
    loss(logits, targets, {"selected": selected})
    slow(logits.tolist(), targets.tolist(), selected.tolist())
    expected = slow(logits.tolist(), targets.tolist(), [True] * 6)
    assert loss.eval()(logits, targets).item() == pytest.approx(expected, rel=1e-9)


def test_ce_tencent_selects_three_in_ten_of_the_labels_without_a_positive():
    labels = 4000
    torch.manual_seed(0)
    loss = build_loss("ce_tencent", LabelStatistics([1] * labels, 10))
    targets = torch.zeros(2, labels)
    targets[:, ::2] = 1
    loss(torch.zeros(2, labels), targets)
    assert 500 < int(loss.without[1::2].sum()) < 700
    assert not loss.without[::2].any()
    assert loss.with_positive[::2].all()
