import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from loss_cases import (
    DOCUMENTS,
    FREQUENCIES,
    as_tensors,
    batches,
    draw_batch,
    mean,
    sigmoid,
    softplus,
    value_and_gradient,
)

from losslab.losses import LabelStatistics, build_loss
from losslab.losses.asymmetric import asymmetric


def slow_asymmetric(logits, targets, gamma_pos, gamma_neg, clip):
    entries = []
    for row, carried in zip(logits, targets, strict=True):
        for z, y in zip(row, carried, strict=True):
            if y:
                entries.append(sigmoid(-z) ** gamma_pos * softplus(-z))
            else:
                q = max(sigmoid(z) - clip, 0)
                entries.append(q**gamma_neg * (-math.log1p(-q) if clip else softplus(z)))
    return mean(entries)


@settings(deadline=None, derandomize=True, max_examples=80)
@given(
    batch=batches(),
    gamma_pos=st.sampled_from([0.0, 1.0, 2.5]),
    gamma_neg=st.sampled_from([0.0, 1.0, 3.0, 4.0]),
    clip=st.sampled_from([0.0, 0.05, 0.3]),
)
def test_asl_is_its_equation(batch, gamma_pos, gamma_neg, clip):
    options = {"gamma_pos": gamma_pos, "gamma_neg": gamma_neg, "clip": clip}
    value = build_loss("asl", **options)(*as_tensors(batch))
    assert value.item() == pytest.approx(slow_asymmetric(*batch, **options), rel=1e-7, abs=1e-9)


@pytest.mark.parametrize(
    ("gamma", "other", "options"), [(0.0, "bce", {}), (2.0, "focal", {"gamma": 2.0})]
)
def test_asl_with_equal_gammas_and_no_clip_is_focal(gamma, other, options):
    logits, targets = draw_batch()
    loss = build_loss("asl", gamma_pos=gamma, gamma_neg=gamma, clip=0.0)
    torch.testing.assert_close(
        value_and_gradient(loss, logits, targets),
        value_and_gradient(build_loss(other, **options), logits, targets),
    )


def test_negatives_below_the_clip_cost_nothing_and_pass_no_gradient():
    logits, targets = draw_batch()
    easy = -logits.abs() - 3  # sigmoid(-3) is below 0.05
    value, gradient = value_and_gradient(build_loss("asl"), easy, 0 * targets)
    assert value == 0
    assert not gradient.any()


def test_function_is_the_module():
    options = {"gamma_pos": 1.0, "gamma_neg": 4.0, "clip": 0.05}
    batch = draw_batch()
    assert asymmetric(*batch, **options) == build_loss("asl", **options)(*batch)


def slow_comic(logits, targets, frequencies, gamma_neg, clip):
    weights = [(1 - math.log(n / max(frequencies))) ** (1 / 6) for n in frequencies]
    entries = []
    for row, carried in zip(logits, targets, strict=True):
        for z, y, w in zip(row, carried, weights[: len(row)], strict=True):
            q = max(sigmoid(z) - clip, 0)
            negative = q ** (gamma_neg + w) * -math.log1p(-q)
            entries.append(w * (softplus(-z) if y else negative))
    return mean(entries)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    batch=batches(),
    gamma_neg=st.sampled_from([0.0, 1.0, 4.0]),
    clip=st.sampled_from([0.01, 0.05, 0.3]),
)
def test_comic_is_its_equation(batch, gamma_neg, clip):
    logits, targets = as_tensors(batch)
    frequencies = FREQUENCIES[: logits.shape[1]]
    statistics = LabelStatistics(frequencies, DOCUMENTS)
    value = build_loss("comic", statistics, gamma_neg=gamma_neg, clip=clip)(logits, targets)
    expected = slow_comic(*batch, frequencies, gamma_neg, clip)
    assert value.item() == pytest.approx(expected, rel=1e-7, abs=1e-9)


def test_comic_of_labels_as_frequent_as_each_other_is_asl_with_one_more_focus():
    batch = draw_batch()
    comic = build_loss("comic", LabelStatistics([7] * 6, DOCUMENTS))
    torch.testing.assert_close(
        value_and_gradient(comic, *batch),
        value_and_gradient(build_loss("asl", gamma_neg=5.0), *batch),
    )
