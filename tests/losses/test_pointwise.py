import json
import math
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd import gradcheck

from losslab.losses import LabelStatistics, build_loss

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "pointwise.json").read_text())
FREQUENCIES, DOCUMENTS = [120, 45, 30, 9, 3, 1], 150
STATISTICS = LabelStatistics(FREQUENCIES, DOCUMENTS, mu=0.3)
VARIANTS = [
    ("bce", {}),
    ("focal", {}),
    ("focal", {"gamma": 0.5}),
    ("focal", {"gamma": 1.0}),
    ("db", {}),
    ("db", {"gamma": 0.0}),
    ("db", {"gamma": 0.5}),
]
every_variant = pytest.mark.parametrize(("name", "options"), VARIANTS)


def value_and_gradient(loss, logits, targets):
    logits = logits.clone().requires_grad_()
    value = loss(logits, targets)
    value.backward()
    return value.detach(), logits.grad


def draw_batch(rows=5, labels=6, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    logits = 3 * torch.randn(rows, labels, generator=generator, dtype=dtype)
    return logits, (torch.rand(rows, labels, generator=generator) < 0.4).to(dtype)


def slow_mean(logits, targets, frequencies, documents, *, gamma, weigh, kappa=0.0, scale=1.0):
    """The equation, one entry at a time, in plain floats."""
    entries = []
    for row, carried in zip(logits, targets, strict=True):
        positives = [n for n, y in zip(frequencies, carried, strict=True) if y]
        for z, y, n in zip(row, carried, frequencies, strict=True):
            shift = kappa * math.log(documents / n - 1)
            p_t = 1 / (1 + math.exp(-(z - shift) if y else scale * (z - shift)))
            entry = weigh(n, positives) * (1 - p_t) ** gamma * -math.log(p_t)
            entries.append(entry if y else entry / scale)
    return sum(entries) / len(entries)


def slow_rebalancing(alpha, beta, mu):
    def weigh(frequency, positives):
        if not positives:
            return 1 + alpha
        ratio = (1 / frequency) / sum(1 / n for n in positives)
        return alpha + 1 / (1 + math.exp(-beta * (ratio - mu)))

    return weigh


def unweighted(frequency, positives):
    return 1.0


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-5)])
@pytest.mark.parametrize("entry", GOLDEN["entries"], ids=lambda entry: entry["key"])
def test_value_and_gradient_are_the_golden_ones(entry, dtype, tolerance):
    batch = GOLDEN["inputs"][entry["input"]]
    statistics = LabelStatistics(batch["frequencies"], batch["documents"])
    loss = build_loss(entry["loss"], statistics, **entry["options"])
    value, gradient = value_and_gradient(
        loss, torch.tensor(batch["logits"], dtype=dtype), torch.tensor(batch["targets"])
    )
    assert value.dtype == dtype
    assert value.item() == pytest.approx(entry["value"], rel=0, abs=tolerance)
    expected = torch.tensor(entry["gradient"], dtype=dtype)
    torch.testing.assert_close(gradient, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0, 3.0])
def test_focal_is_its_equation(gamma):
    logits, targets = draw_batch()
    slow = slow_mean(
        logits.tolist(), targets.tolist(), FREQUENCIES, DOCUMENTS, gamma=gamma, weigh=unweighted
    )
    assert build_loss("focal", gamma=gamma)(logits, targets).item() == pytest.approx(slow, rel=1e-9)


def test_bce_of_soft_targets_is_its_equation():
    logits, _ = draw_batch()
    soft = torch.rand(5, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    slow = sum(
        math.log1p(math.exp(z)) - y * z
        for z, y in zip(logits.flatten().tolist(), soft.flatten().tolist(), strict=True)
    )
    assert build_loss("bce")(logits, soft).item() == pytest.approx(slow / 30, rel=1e-9)


@st.composite
def batches(draw):
    rows, labels = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    documents = draw(st.integers(3, 1000))

    def table(entries):
        return draw(
            st.lists(
                st.lists(entries, min_size=labels, max_size=labels), min_size=rows, max_size=rows
            )
        )

    frequencies = draw(st.lists(st.integers(1, documents - 1), min_size=labels, max_size=labels))
    return table(st.floats(-15, 15)), table(st.integers(0, 1)), frequencies, documents


@settings(deadline=None, derandomize=True, max_examples=80)
@given(
    batch=batches(),
    gamma=st.sampled_from([0.0, 1.0, 2.0, 3.5]),
    alpha=st.floats(0, 2),
    beta=st.floats(0.5, 20),
    mu=st.floats(0, 1),
    kappa=st.floats(0, 1),
    scale=st.sampled_from([0.5, 1.0, 1.5, 4.0]),
)
def test_db_is_its_equation(batch, gamma, alpha, beta, mu, kappa, scale):
    logits, targets, frequencies, documents = batch
    loss = build_loss(
        "db",
        LabelStatistics(frequencies, documents),
        gamma=gamma,
        alpha=alpha,
        beta=beta,
        mu=mu,
        kappa=kappa,
        negative_scale=scale,
    )
    value, gradient = value_and_gradient(
        loss, torch.tensor(logits, dtype=torch.float64), torch.tensor(targets)
    )
    weigh = slow_rebalancing(alpha, beta, mu)
    slow = slow_mean(*batch, gamma=gamma, weigh=weigh, kappa=kappa, scale=scale)
    assert value.item() == pytest.approx(slow, rel=1e-7, abs=1e-8)
    assert gradient.isfinite().all()


@settings(deadline=None, derandomize=True, max_examples=40)
@given(batch=batches())
def test_gradients_point_from_negatives_to_positives(batch):
    logits, targets, frequencies, documents = batch
    targets = torch.tensor(targets)
    for name in ("bce", "focal", "db"):
        loss = build_loss(name, LabelStatistics(frequencies, documents, mu=0.3))
        value, gradient = value_and_gradient(loss, torch.tensor(logits), targets)
        assert value >= 0
        assert (gradient[targets == 1] <= 0).all()
        assert (gradient[targets == 0] >= 0).all()


@every_variant
def test_gradient_is_the_derivative_of_the_value(name, options):
    logits, targets = draw_batch(rows=3)
    loss = build_loss(name, STATISTICS, **options)
    assert gradcheck(lambda z: loss(z, targets), (logits.requires_grad_(),))


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
def test_order_of_labels_is_immaterial(name, options):
    logits, targets = draw_batch()
    order = torch.tensor([3, 5, 0, 2, 1, 4])
    moved = LabelStatistics([FREQUENCIES[label] for label in order], DOCUMENTS, mu=0.3)
    value, gradient = value_and_gradient(build_loss(name, STATISTICS, **options), logits, targets)
    torch.testing.assert_close(
        value_and_gradient(build_loss(name, moved, **options), logits[:, order], targets[:, order]),
        (value, gradient[:, order]),
    )


@every_variant
def test_order_of_documents_is_immaterial(name, options):
    logits, targets = draw_batch()
    order = torch.tensor([4, 2, 0, 1, 3])
    loss = build_loss(name, STATISTICS, **options)
    value, gradient = value_and_gradient(loss, logits, targets)
    torch.testing.assert_close(
        value_and_gradient(loss, logits[order], targets[order]), (value, gradient[order])
    )


@every_variant
def test_value_is_the_mean_over_documents(name, options):
    logits, targets = draw_batch()
    loss = build_loss(name, STATISTICS, **options)
    alone = [loss(logits[[row]], targets[[row]]) for row in range(5)]
    torch.testing.assert_close(loss(logits, targets), torch.stack(alone).mean())


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@every_variant
def test_inputs_stay_as_they_are(name, options, dtype):
    logits, targets = draw_batch(dtype=dtype)
    before = logits.clone(), targets.clone()
    loss = build_loss(name, STATISTICS, **options)
    value_and_gradient(loss, logits, targets)
    loss(logits, targets)
    assert torch.equal(logits, before[0])
    assert torch.equal(targets, before[1])


@pytest.mark.parametrize("kind", [torch.bool, torch.int8, torch.int64, torch.float32])
@every_variant
def test_targets_may_be_of_any_type(name, options, kind):
    logits, targets = draw_batch()
    loss = build_loss(name, STATISTICS, **options)
    assert loss(logits, targets.to(kind)) == loss(logits, targets)


@every_variant
def test_context_is_accepted(name, options):
    logits, targets = draw_batch()
    loss = build_loss(name, STATISTICS, **options)
    assert loss(logits, targets, context={"epoch": 3}) == loss(logits, targets)


@pytest.mark.parametrize("fill", [0.0, 1.0])
@every_variant
def test_rows_with_no_or_only_positives_have_finite_values(name, options, fill):
    logits, targets = draw_batch(dtype=torch.float32)
    targets[1:3] = fill
    value, gradient = value_and_gradient(build_loss(name, STATISTICS, **options), logits, targets)
    assert value.isfinite()
    assert gradient.isfinite().all()
    assert gradient[1:3].abs().sum() > 0


@pytest.mark.parametrize("target", [0, 1])
def test_one_document_with_one_label_is_its_equation(target):
    options = {"gamma": 2.0, "kappa": 0.05}
    weigh = slow_rebalancing(alpha=0.1, beta=10.0, mu=0.3)
    loss = build_loss("db", LabelStatistics([7], 50, mu=0.3), **options)
    value = loss(torch.tensor([[0.4]], dtype=torch.float64), torch.tensor([[target]]))
    slow = slow_mean([[0.4]], [[target]], [7], 50, weigh=weigh, scale=2.0, **options)
    assert value.ndim == 0
    assert value.item() == pytest.approx(slow, rel=1e-9)


def test_labels_of_no_or_every_document_count_as_nearly_so():
    logits, targets = draw_batch(labels=3)
    loss = build_loss("db", LabelStatistics([0, 100, 40], 100, mu=0.3))
    nearly = build_loss("db", LabelStatistics([1, 99, 40], 100, mu=0.3))
    torch.testing.assert_close(
        value_and_gradient(loss, logits, targets), value_and_gradient(nearly, logits, targets)
    )


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
@every_variant
def test_extreme_logits_have_finite_values_and_gradients(name, options, dtype, size, expected):
    logits = torch.tensor([[size, -size, 0.0], [-size, size, 1.0]], dtype=dtype)
    loss = build_loss(name, LabelStatistics([0, 50, 100], 100, mu=0.3), **options)
    for targets in ([[1, 0, 1], [0, 1, 0]], [[0, 1, 0], [1, 0, 1]], [[0, 0, 0], [1, 1, 1]]):
        value, gradient = value_and_gradient(loss, logits, torch.tensor(targets))
        assert value.dtype == expected
        assert value.isfinite()
        assert gradient.dtype == dtype
        assert gradient.isfinite().all()


@pytest.mark.parametrize(("dtype", "size", "expected"), EXTREMES)
@pytest.mark.parametrize("name", ["bce", "focal"])
def test_a_wholly_wrong_entry_costs_its_logit(name, dtype, size, expected):
    logits = torch.tensor([[size, -size]], dtype=dtype)
    value = build_loss(name)(logits, torch.tensor([[0, 1]]))
    assert value.item() == logits[0, 0].item()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@every_variant
def test_half_precision_computes_in_float32(name, options, dtype):
    logits, targets = draw_batch()
    loss = build_loss(name, STATISTICS, **options)
    coarse = logits.to(dtype)
    assert loss(coarse, targets) == loss(coarse.float(), targets)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["focal", "db"])
def test_small_gamma_has_a_finite_gradient_at_saturation(name, dtype):
    logits = torch.tensor([[2000.0, -2000.0, 90.0, -90.0, 17.0, -17.0]], dtype=dtype)
    loss = build_loss(name, STATISTICS, gamma=0.5)
    value, gradient = value_and_gradient(loss, logits, torch.tensor([[1, 0, 1, 0, 1, 0]]))
    assert value.isfinite()
    assert gradient.isfinite().all()


def test_losses_refuse_shapes_that_differ():
    for name in ("bce", "focal", "db"):
        with pytest.raises(ValueError, match=rf"{name}: .*got \(2, 6\) and \(2, 5\)"):
            build_loss(name, STATISTICS)(torch.zeros(2, 6), torch.zeros(2, 5))


def test_losses_refuse_logits_without_documents_axis():
    with pytest.raises(ValueError, match=r"documents x labels, got \(6,\) and \(6,\)"):
        build_loss("bce")(torch.zeros(6), torch.zeros(6))


@pytest.mark.parametrize("name", ["bce", "focal", "db"])
def test_losses_refuse_nan_logits_and_say_how_many(name):
    logits = torch.zeros(2, 6)
    logits[0, 1] = logits[1, 4] = torch.nan
    with pytest.raises(ValueError, match=f"{name}: 2 logits are NaN"):
        build_loss(name, STATISTICS)(logits, torch.zeros(2, 6))


@pytest.mark.parametrize("name", ["focal", "db"])
def test_hard_losses_refuse_soft_targets(name):
    with pytest.raises(ValueError, match=f"{name}: targets must be 0 or 1.*no soft targets"):
        build_loss(name, STATISTICS)(torch.zeros(1, 6), torch.full((1, 6), 0.5))


@pytest.mark.parametrize("target", [-0.1, 1.1, 2.0])
def test_bce_refuses_targets_outside_the_unit_interval(target):
    with pytest.raises(ValueError, match=r"bce: targets must lie in \[0, 1\]"):
        build_loss("bce")(torch.zeros(1, 2), torch.tensor([[0.0, target]]))


def test_db_without_slope_weighs_every_row_alike():
    statistics = LabelStatistics(frequencies=[1, 2], documents=4, mu=0.5)
    loss = build_loss("db", statistics, beta=0.0, alpha=0.5)
    assert loss(torch.zeros(1, 2), torch.zeros(1, 2)).isfinite()


def test_db_refuses_another_number_of_labels_than_its_statistics():
    loss = build_loss("db", LabelStatistics(frequencies=[1, 2], documents=4, mu=0.5))
    with pytest.raises(ValueError, match="statistics have 2 labels, the logits 3"):
        loss(torch.zeros(1, 3), torch.zeros(1, 3))


def test_bce_refuses_nan_targets():
    with pytest.raises(ValueError, match=r"targets must lie in \[0, 1\]"):
        build_loss("bce")(torch.zeros(1, 2), torch.full((1, 2), float("nan")))
