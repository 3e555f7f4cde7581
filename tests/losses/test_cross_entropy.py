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
    identify,
    mean,
    sigmoid,
    slow_bce,
    softplus,
    value_and_gradient,
)

from losslab.losses import LabelStatistics, build_loss
from losslab.losses.balanced import clamped_frequencies, rebalanced_weight
from losslab.losses.cross_entropy import pointwise

NAMES = ["bce", "focal", "cb", "rfl", "ntr_focal", "db_0fl", "cb_ntr", "db"]
VARIANTS = [*((name, {}) for name in NAMES), ("focal", {"gamma": 0.5}), ("db", {"gamma": 0.0})]
every_variant = pytest.mark.parametrize(("name", "options"), VARIANTS, ids=identify)


def slow_pointwise(
    logits, targets, frequencies, documents, *, gamma=0.0, weigh=None, kappa=0.0, scale=1.0
):
    """The equation, one entry at a time, in plain floats."""
    entries = []
    for row, carried in zip(logits, targets, strict=True):
        positives = [n for n, y in zip(frequencies, carried, strict=True) if y]
        for z, y, n in zip(row, carried, frequencies, strict=True):
            shifted = z - kappa * math.log(documents / n - 1)
            cost = softplus(-shifted if y else scale * shifted)
            weight = weigh(n, positives) if weigh else 1.0
            entry = weight * (1 - math.exp(-cost)) ** gamma * cost
            entries.append(entry if y else entry / scale)
    return mean(entries)


def slow_rebalancing(alpha=0.1, beta=10.0, mu=0.3):
    def weigh(frequency, positives):
        if not positives:
            return 1 + alpha
        ratio = (1 / frequency) / sum(1 / n for n in positives)
        return alpha + sigmoid(beta * (ratio - mu))

    return weigh


def slow_class_balance(beta=0.9):
    return lambda frequency, positives: (1 - beta) / (1 - beta**frequency)


FOCUS, TOLERANCE = {"gamma": 2.0}, {"kappa": 0.05, "scale": 2.0}
EQUATIONS = {  # by the table of the papers' losses, at their defaults
    "bce": {},
    "focal": FOCUS,
    "cb": {"weigh": slow_class_balance(), **FOCUS},
    "rfl": {"weigh": slow_rebalancing(), **FOCUS},
    "ntr_focal": {**FOCUS, **TOLERANCE},
    "db_0fl": {"weigh": slow_rebalancing(), **TOLERANCE},
    "cb_ntr": {"weigh": slow_class_balance(), **FOCUS, **TOLERANCE},
    "db": {"weigh": slow_rebalancing(), **FOCUS, **TOLERANCE},
}


@settings(deadline=None, derandomize=True, max_examples=40)
@given(batch=batches(), rare=st.integers(1, 40))
@pytest.mark.parametrize("name", EQUATIONS)
def test_loss_is_its_equation(name, batch, rare):
    logits, targets = as_tensors(batch)
    frequencies = [rare, *FREQUENCIES][: logits.shape[1]]
    loss = build_loss(name, LabelStatistics(frequencies, DOCUMENTS, mu=0.3))
    slow = slow_pointwise(*batch, frequencies, DOCUMENTS, **EQUATIONS[name])
    assert loss(logits, targets).item() == pytest.approx(slow, rel=1e-7, abs=1e-8)


@settings(deadline=None, derandomize=True, max_examples=80)
@given(
    batch=batches(),
    gamma=st.sampled_from([0.0, 1.0, 2.0, 3.5, 4.0]),
    alpha=st.floats(0, 2),
    beta=st.floats(0.5, 20),
    mu=st.floats(0, 1),
    kappa=st.floats(0, 1),
    scale=st.sampled_from([0.5, 1.0, 1.5, 4.0]),
)
def test_db_is_its_equation_at_any_options(batch, gamma, alpha, beta, mu, kappa, scale):
    logits, targets = as_tensors(batch)
    statistics = LabelStatistics(FREQUENCIES[: logits.shape[1]], DOCUMENTS)
    loss = build_loss(
        "db",
        statistics,
        gamma=gamma,
        alpha=alpha,
        beta=beta,
        mu=mu,
        kappa=kappa,
        negative_scale=scale,
    )
    weigh = slow_rebalancing(alpha, beta, mu)
    parts = {"gamma": gamma, "weigh": weigh, "kappa": kappa, "scale": scale}
    slow = slow_pointwise(*batch, statistics.frequencies, DOCUMENTS, **parts)
    assert loss(logits, targets).item() == pytest.approx(slow, rel=1e-7, abs=1e-8)


def test_ntr_focal_as_in_the_code_leaves_its_negatives_undivided():
    logits, _ = draw_batch()
    nothing, everything = torch.zeros_like(logits), torch.ones_like(logits)
    paper = build_loss("ntr_focal", STATISTICS)
    code = build_loss("ntr_focal", STATISTICS, ntr_negative_scale="code")
    torch.testing.assert_close(code(logits, nothing), 2 * paper(logits, nothing))
    assert code(logits, everything) == paper(logits, everything)


def test_bce_of_soft_targets_is_its_equation():
    logits, _ = draw_batch()
    soft = torch.rand(5, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    pairs = zip(logits.flatten().tolist(), soft.flatten().tolist(), strict=True)
    slow = mean(slow_bce(z, y) for z, y in pairs)
    assert build_loss("bce")(logits, soft).item() == pytest.approx(slow, rel=1e-9)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(batch=batches())
def test_gradients_point_from_negatives_to_positives(batch):
    logits, targets = as_tensors(batch)
    for name in NAMES:
        loss = build_loss(name, LabelStatistics(FREQUENCIES[: logits.shape[1]], DOCUMENTS, mu=0.3))
        value, gradient = value_and_gradient(loss, logits, targets)
        assert value >= 0
        assert (gradient[targets == 1] <= 0).all()
        assert (gradient[targets == 0] >= 0).all()


def test_cb_without_effective_numbers_is_focal():
    logits, targets = draw_batch()
    torch.testing.assert_close(
        value_and_gradient(build_loss("cb", STATISTICS, beta=0.0), logits, targets),
        value_and_gradient(build_loss("focal"), logits, targets),
    )


@pytest.mark.parametrize(
    ("whole", "off", "part"),
    [
        ("db", {"gamma": 0.0}, "db_0fl"),
        ("db", {"kappa": 0.0, "negative_scale": 1.0}, "rfl"),
        ("cb_ntr", {"kappa": 0.0, "negative_scale": 1.0}, "cb"),
        ("cb_ntr", {"beta": 0.0}, "ntr_focal"),
    ],
)
def test_loss_with_a_part_switched_off_is_the_one_without_it(whole, off, part):
    logits, targets = draw_batch()
    torch.testing.assert_close(
        value_and_gradient(build_loss(whole, STATISTICS, **off), logits, targets),
        value_and_gradient(build_loss(part, STATISTICS), logits, targets),
    )


def test_functions_make_up_the_module():
    logits, targets = draw_batch()
    frequencies, documents = clamped_frequencies(STATISTICS)
    weight = rebalanced_weight(targets, 1 / frequencies, alpha=0.1, beta=10.0, mu=0.3)
    bias = 0.05 * torch.log(documents / frequencies - 1)
    value = pointwise(logits, targets, gamma=2.0, weight=weight, bias=bias, negative_scale=2.0)
    torch.testing.assert_close(value, build_loss("db", STATISTICS)(logits, targets))


def test_focal_without_focus_is_bce():
    logits, targets = draw_batch()
    torch.testing.assert_close(
        value_and_gradient(build_loss("focal", gamma=0.0), logits, targets),
        value_and_gradient(build_loss("bce"), logits, targets),
    )


def test_db_with_unit_weights_and_no_tolerance_is_focal():
    logits, targets = draw_batch()
    targets[:, 0] = 1
    plain = {"alpha": 0.5, "beta": 0.0, "kappa": 0.0, "negative_scale": 1.0}
    torch.testing.assert_close(
        value_and_gradient(build_loss("db", STATISTICS, **plain), logits, targets),
        value_and_gradient(build_loss("focal"), logits, targets),
    )


def test_db_weighs_rows_without_positives_by_one_plus_alpha():
    logits, _ = draw_batch()
    nothing = torch.zeros_like(logits)
    intolerant = build_loss("db", STATISTICS, alpha=0.25, kappa=0.0, negative_scale=1.0)
    expected = 1.25 * build_loss("focal")(logits, nothing)
    torch.testing.assert_close(intolerant(logits, nothing), expected)


def test_db_takes_auto_mu_from_the_statistics():
    logits, targets = draw_batch()
    given_mu = build_loss("db", LabelStatistics(FREQUENCIES, DOCUMENTS), mu=0.3)
    assert build_loss("db", STATISTICS)(logits, targets) == given_mu(logits, targets)
    other = LabelStatistics(FREQUENCIES, DOCUMENTS, mu=0.7)
    assert build_loss("db", other)(logits, targets) != given_mu(logits, targets)


@every_variant
def test_value_is_the_mean_over_documents(name, options):
    logits, targets = draw_batch()
    loss = build_loss(name, STATISTICS, **options)
    alone = [loss(logits[[row]], targets[[row]]) for row in range(5)]
    torch.testing.assert_close(loss(logits, targets), torch.stack(alone).mean())


@every_variant
def test_context_is_accepted(name, options):
    logits, targets = draw_batch()
    loss = build_loss(name, STATISTICS, **options)
    assert loss(logits, targets, context={"epoch": 3}) == loss(logits, targets)


def test_a_single_training_document_counts_as_two():
    logits, targets = draw_batch(labels=2)
    loss = build_loss("db", LabelStatistics([0, 1], 1, mu=0.3))
    of_two = build_loss("db", LabelStatistics([1, 1], 2, mu=0.3))
    assert loss(logits, targets) == of_two(logits, targets)
    assert loss(logits, targets).isfinite()


EXTREMES = [
    (torch.float16, 6e4, torch.float32),
    (torch.bfloat16, 1e4, torch.float32),
    (torch.float32, 1e4, torch.float32),
    (torch.float64, 1e4, torch.float64),
]


@pytest.mark.parametrize(("dtype", "size", "expected"), EXTREMES)
@pytest.mark.parametrize("name", ["bce", "focal"])
def test_a_wholly_wrong_entry_costs_its_logit(name, dtype, size, expected):
    logits = torch.tensor([[size, -size]], dtype=dtype)
    value = build_loss(name)(logits, torch.tensor([[0, 1]]))
    assert value.item() == logits[0, 0].item()


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["focal", "db"])
def test_small_gamma_has_a_finite_gradient_at_saturation(name, dtype):
    logits = torch.tensor([[2000.0, -2000.0, 90.0, -90.0, 17.0, -17.0]], dtype=dtype)
    loss = build_loss(name, STATISTICS, gamma=0.5)
    value, gradient = value_and_gradient(loss, logits, torch.tensor([[1, 0, 1, 0, 1, 0]]))
    assert value.isfinite()
    assert gradient.isfinite().all()


def test_db_without_slope_weighs_every_row_alike():
    statistics = LabelStatistics(frequencies=[1, 2], documents=4, mu=0.5)
    loss = build_loss("db", statistics, beta=0.0, alpha=0.5)
    assert loss(torch.zeros(1, 2), torch.zeros(1, 2)).isfinite()
