import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from loss_cases import as_tensors, batches, draw_batch, mean, sigmoid, softplus, value_and_gradient

from losslab.losses import build_loss


def slow_polynomial(logits, targets, e1, e2, gamma_neg, clip, level=None):
    """``level``: the factor of the robust loss on negatives."""

    def entry(z, y):
        p = sigmoid(z)
        if y:
            return softplus(-z) - e1 * (1 - p) - e2 / 2 * (1 - p) ** 2
        q = max(p - clip, 0)
        hill = 1 if level is None else (level - p) * p**2
        return q**gamma_neg * -math.log1p(-q) * hill

    return mean(
        entry(z, y)
        for row, carried in zip(logits, targets, strict=True)
        for z, y in zip(row, carried, strict=True)
    )


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    batch=batches(),
    e1=st.sampled_from([-1.0, 0.0, 1.0]),
    e2=st.sampled_from([-2.5, 0.0, 1.0]),
    gamma_neg=st.sampled_from([0.0, 1.0, 4.0]),
)
@pytest.mark.parametrize(("name", "level"), [("apl", None), ("ral", 1.5)])
def test_polynomial_losses_are_their_equations(name, level, batch, e1, e2, gamma_neg):
    options = {"epsilon1": e1, "epsilon2": e2, "gamma_neg": gamma_neg}
    value = build_loss(name, **options)(*as_tensors(batch))
    expected = slow_polynomial(*batch, e1, e2, gamma_neg, 0.05, level)
    assert value.item() == pytest.approx(expected, rel=1e-7, abs=1e-9)


def test_apl_without_coefficients_is_asl():
    batch = draw_batch()
    torch.testing.assert_close(
        value_and_gradient(build_loss("apl", epsilon1=0.0, epsilon2=0.0), *batch),
        value_and_gradient(build_loss("asl"), *batch),
    )


@pytest.mark.parametrize(("e1", "e2", "power"), [(0.0, 0.0, 1), (1.0, 0.0, 2), (1.0, 1.0, 3)])
def test_coefficients_take_away_the_first_terms_of_the_series(e1, e2, power):
    """Of -log p = sum of (1-p)^k / k, what is left begins with the power given."""
    logits, miss = torch.full((1, 1), 9.0, dtype=torch.float64), sigmoid(-9.0)
    loss = build_loss("apl", epsilon1=e1, epsilon2=e2)
    value = loss(logits, torch.ones(1, 1)).item()
    assert value == pytest.approx(miss**power / power, rel=1e-3)


def test_ral_and_apl_agree_on_positives():
    logits, targets = draw_batch()
    everything = torch.ones_like(targets)
    torch.testing.assert_close(
        value_and_gradient(build_loss("ral"), logits, everything),
        value_and_gradient(build_loss("apl"), logits, everything),
    )


def test_the_negatives_of_ral_are_those_of_asl_times_those_of_hill():
    logits = torch.linspace(-6, 6, 7, dtype=torch.float64).reshape(-1, 1, 1)
    none = torch.zeros(1, 1)
    asl, hill, ral = (
        [build_loss(name)(z, none) for z in logits] for name in ("asl", "hill", "ral")
    )
    for first, second, product in zip(asl, hill, ral, strict=True):
        torch.testing.assert_close(first * second, product)
