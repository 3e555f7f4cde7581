"""What holds for every loss of the table."""

import pytest
import torch
from hypothesis import given, settings
from loss_cases import (
    DOCUMENTS,
    FREQUENCIES,
    GROUPS,
    VARIANTS,
    as_tensors,
    batches,
    build,
    draw_batch,
    draw_context,
    identify,
    pick_labels,
    pick_rows,
    value_and_gradient,
)
from torch.autograd import gradcheck

from losslab.losses import LOSSES, LabelStatistics

every_loss = pytest.mark.parametrize("name", LOSSES)
every_variant = pytest.mark.parametrize(("name", "options"), VARIANTS, ids=identify)
pytestmark = pytest.mark.filterwarnings("ignore:.*small for a loss over batches")


@every_variant
def test_gradient_is_the_derivative_of_the_value(name, options):
    logits, targets = draw_batch(rows=3)
    targets[2] = 0
    context = draw_context(rows=3)
    loss = build(name, options).eval()  # training steps move the counters of some

    def value(z, second):
        return loss(z, targets, context | {"second_logits": second})

    second = context["second_logits"].requires_grad_()
    assert gradcheck(value, (logits.requires_grad_(), second))


@every_variant
def test_order_of_documents_is_immaterial(name, options):
    logits, targets = draw_batch()
    context, order = draw_context(), torch.tensor([4, 2, 0, 1, 3])
    value, gradient = value_and_gradient(build(name, options), logits, targets, context)
    moved = logits[order], targets[order], pick_rows(context, order)
    torch.testing.assert_close(
        value_and_gradient(build(name, options), *moved), (value, gradient[order])
    )


@every_variant
def test_order_of_labels_is_immaterial(name, options):
    logits, targets = draw_batch()
    context, order = draw_context(), torch.tensor([3, 5, 0, 2, 1, 4])
    value, gradient = value_and_gradient(build(name, options), logits, targets, context)
    statistics = LabelStatistics([FREQUENCIES[c] for c in order], DOCUMENTS, mu=0.3)
    loss = build(name, options, statistics, groups=[GROUPS[c] for c in order])
    moved = logits[:, order], targets[:, order], pick_labels(context, order)
    torch.testing.assert_close(value_and_gradient(loss, *moved), (value, gradient[:, order]))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@every_variant
def test_inputs_stay_as_they_are(name, options, dtype):
    logits, targets = draw_batch(dtype=dtype)
    context = draw_context(dtype=dtype)
    inputs = [logits, targets, *(v for v in context.values() if isinstance(v, torch.Tensor))]
    before = [tensor.clone() for tensor in inputs]
    loss = build(name, options)
    value_and_gradient(loss, logits, targets, context)
    loss(logits, targets, context)  # this time the very tensors, not a clone
    loss.scores(logits)
    assert all(map(torch.equal, inputs, before))


@pytest.mark.parametrize("kind", [torch.bool, torch.int8, torch.int64, torch.float32])
@every_loss
def test_targets_may_be_of_any_type(name, kind):
    logits, targets = draw_batch()
    value = build(name)(logits, targets, draw_context())
    assert build(name)(logits, targets.to(kind), draw_context()) == value


@pytest.mark.parametrize("fill", [0.0, 1.0], ids=["empty", "full"])
@pytest.mark.parametrize("shape", [(5, 6), (1, 6), (4, 1), (1, 1)], ids=str)
@every_variant
def test_rows_with_no_or_only_positives_have_finite_values(name, options, shape, fill):
    rows, labels = shape
    logits, targets = draw_batch(rows, labels, dtype=torch.float32)
    targets[: max(1, rows - 2)] = fill
    statistics = LabelStatistics(FREQUENCIES[:labels], DOCUMENTS, mu=0.3)
    loss = build(name, options, statistics, groups=GROUPS[:labels])
    context = draw_context(rows, labels, torch.float32)
    value, gradient = value_and_gradient(loss, logits, targets, context)
    assert value.shape == ()
    assert value.isfinite()
    assert gradient.isfinite().all()


EXTREMES = [
    (torch.float16, 6e4, torch.float32),
    (torch.bfloat16, 1e4, torch.float32),
    (torch.float32, 1e4, torch.float32),
    (torch.float64, 1e4, torch.float64),
]


@pytest.mark.parametrize(("dtype", "size", "expected"), EXTREMES, ids=str)
@every_variant
def test_extreme_logits_have_finite_values_and_gradients(name, options, dtype, size, expected):
    signs = torch.tensor([[1, -1, 0, 1, -1, 1], [-1, 1, 1, -1, 0, -1], [1] * 6, [-1] * 6])
    logits = (size * signs).to(dtype)
    statistics = LabelStatistics([0, 150, 30, 9, 3, 1], 150, mu=0.3)
    context = draw_context(rows=4, dtype=dtype) | {"second_logits": -logits}
    alternating = torch.tensor([[1, 0] * 3, [0, 1] * 3, [1, 1, 0, 0, 1, 0], [0, 0, 0, 1, 0, 1]])
    for targets in (alternating, 1 - alternating, 0 * alternating, 0 * alternating + 1):
        loss = build(name, options, statistics)
        value, gradient = value_and_gradient(loss, logits, targets, context)
        assert value.dtype == expected
        assert value.isfinite()
        assert gradient.dtype == dtype
        assert gradient.isfinite().all()
        assert loss.scores(logits).isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@every_variant
def test_half_precision_computes_in_float32(name, options, dtype):
    logits, targets = draw_batch(dtype=torch.float32)
    context = draw_context(dtype=torch.float32)
    coarse = logits.to(dtype)
    value, gradient = value_and_gradient(build(name, options), coarse, targets, context)
    fine, slopes = value_and_gradient(build(name, options), coarse.float(), targets, context)
    assert value == fine
    torch.testing.assert_close(gradient, slopes.to(dtype))


@settings(deadline=None, derandomize=True, max_examples=20)
@given(batch=batches(size=80.0))
def test_any_batch_has_a_finite_value_that_two_precisions_agree_on(batch):
    logits, targets = as_tensors(batch, torch.float32)
    rows, labels = logits.shape
    statistics = LabelStatistics(FREQUENCIES[:labels], DOCUMENTS, mu=0.3)
    context = draw_context(rows, labels)
    for name, options in VARIANTS:
        coarse, fine = (
            value_and_gradient(
                build(name, options, statistics, GROUPS[:labels]), z, targets, context
            )
            for z in (logits, logits.double())
        )
        assert fine[1].isfinite().all(), (name, options)
        assert coarse[1].isfinite().all(), (name, options)
        assert coarse[0].item() == pytest.approx(fine[0].item(), rel=1e-4, abs=1e-4), (
            name,
            options,
        )


@every_loss
def test_value_of_a_gradient_free_batch_is_the_same(name):
    logits, targets = draw_batch()
    value = build(name)(logits.requires_grad_(), targets, draw_context())
    with torch.no_grad():
        assert build(name)(logits, targets, draw_context()) == value


@every_loss
def test_a_step_down_the_gradient_lowers_the_value(name):
    logits, targets = draw_batch()
    loss, context = build(name).eval(), draw_context()
    value, gradient = value_and_gradient(loss, logits, targets, context)
    assert gradient.abs().sum() > 0
    assert loss(logits - 1e-4 * gradient, targets, context) < value


@pytest.mark.parametrize("statistics", [([0, 100, 40], 100), ([0, 1, 1], 1)])
@every_loss
def test_labels_of_no_or_every_document_count_as_nearly_so(name, statistics):
    logits, targets = draw_batch(labels=3)
    frequencies, documents = statistics
    nearly = [min(max(n, 1), max(documents, 2) - 1) for n in frequencies]
    results = [
        value_and_gradient(
            build(name, None, LabelStatistics(counts, total, mu=0.3), groups=[0, 0, 1]),
            logits,
            targets,
            draw_context(labels=3),
        )
        for counts, total in ((frequencies, documents), (nearly, max(documents, 2)))
    ]
    assert results[0][1].isfinite().all()
    torch.testing.assert_close(*results, rtol=0, atol=0)
