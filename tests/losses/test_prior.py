import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from loss_cases import (
    DOCUMENTS,
    FREQUENCIES,
    STATISTICS,
    as_tensors,
    batches,
    draw_batch,
    mean,
    slow_bce,
    value_and_gradient,
)

from losslab.losses import LabelStatistics, build_loss


def slow_adjusted(logits, targets, tau):
    priors = [n / DOCUMENTS for n in FREQUENCIES]
    return mean(
        slow_bce(z + tau * math.log(pi / (1 - pi)), y)
        for row, carried in zip(logits, targets, strict=True)
        for z, y, pi in zip(row, carried, priors[: len(row)], strict=True)
    )


def slow_propensity_scored(logits, targets, a, b):
    scale = (math.log(DOCUMENTS) - 1) * (b + 1) ** a
    weights = [2 * (1 + scale * (n + b) ** -a) - 1 for n in FREQUENCIES]
    return mean(
        (w if y else 1) * slow_bce(z, y)
        for row, carried in zip(logits, targets, strict=True)
        for z, y, w in zip(row, carried, weights[: len(row)], strict=True)
    )


@settings(deadline=None, derandomize=True, max_examples=60)
@given(batch=batches(), tau=st.sampled_from([0.0, 0.5, 1.0, 2.0]))
def test_la_bce_is_its_equation(batch, tau):
    logits, targets = as_tensors(batch)
    statistics = LabelStatistics(FREQUENCIES[: logits.shape[1]], DOCUMENTS)
    value = build_loss("la_bce", statistics, tau=tau)(logits, targets)
    assert value.item() == pytest.approx(slow_adjusted(*batch, tau), rel=1e-9, abs=1e-9)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(batch=batches(), a=st.sampled_from([0.3, 0.55]), b=st.sampled_from([0.5, 1.5]))
def test_ps_bce_is_its_equation(batch, a, b):
    logits, targets = as_tensors(batch)
    statistics = LabelStatistics(FREQUENCIES[: logits.shape[1]], DOCUMENTS)
    value = build_loss("ps_bce", statistics, a=a, b=b)(logits, targets)
    assert value.item() == pytest.approx(slow_propensity_scored(*batch, a, b), rel=1e-9, abs=1e-9)


def test_la_bce_without_a_prior_is_bce():
    batch = draw_batch()
    torch.testing.assert_close(
        value_and_gradient(build_loss("la_bce", STATISTICS, tau=0.0), *batch),
        value_and_gradient(build_loss("bce"), *batch),
    )


@pytest.mark.parametrize("tau", [0.3, 1.0])
def test_la_bce_is_the_bias_of_ntr_focal(tau):
    batch = draw_batch()
    options = {"gamma": 0.0, "kappa": tau, "negative_scale": 1.0}
    torch.testing.assert_close(
        value_and_gradient(build_loss("la_bce", STATISTICS, tau=tau), *batch),
        value_and_gradient(build_loss("ntr_focal", STATISTICS, **options), *batch),
    )


def test_la_bce_is_smallest_at_logits_that_say_nothing_beyond_the_prior():
    """Where a label does not depend on the document, its score is the prior's alone: z = 0."""
    targets = torch.zeros(DOCUMENTS, len(FREQUENCIES), dtype=torch.float64)
    for label, count in enumerate(FREQUENCIES):
        targets[:count, label] = 1
    logits = torch.zeros_like(targets)
    _, gradient = value_and_gradient(build_loss("la_bce", STATISTICS), logits, targets)
    torch.testing.assert_close(gradient.sum(dim=0), torch.zeros(len(FREQUENCIES)).double())


def test_ps_bce_of_negatives_is_bce():
    logits, targets = draw_batch()
    none = torch.zeros_like(targets)
    value = build_loss("ps_bce", STATISTICS)(logits, none)
    torch.testing.assert_close(value, build_loss("bce")(logits, none))


def test_the_rarer_a_label_the_more_its_positives_weigh():
    """0.6 and 5.9 are 1 / propensity of labels of 100 and of one document among 1,000."""
    loss = build_loss("ps_bce", LabelStatistics([100, 1], 1000))
    weights = loss.constant("weights", torch.zeros(1, dtype=torch.float64))
    inverse = [1 + (math.log(1000) - 1) * 2.5**0.55 * (n + 1.5) ** -0.55 for n in (100, 1)]
    assert weights.tolist() == pytest.approx([2 * each - 1 for each in inverse])
    assert weights[1] > weights[0] > 1


@pytest.mark.parametrize("documents", [1, 2])
def test_no_propensity_is_above_one(documents):
    loss = build_loss("ps_bce", LabelStatistics([1, 0], documents))
    assert loss.constant("weights", torch.zeros(1)).tolist() == [1.0, 1.0]
