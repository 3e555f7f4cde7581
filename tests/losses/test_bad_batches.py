"""What losses refuse, and how they say so."""

import pytest
import torch
from loss_cases import STATISTICS, build, draw_batch, draw_context

from losslab.losses import LOSSES

every_loss = pytest.mark.parametrize("name", LOSSES)
pytestmark = pytest.mark.filterwarnings("ignore:.*small for a loss over batches")


@every_loss
def test_shapes_that_differ_are_named(name):
    with pytest.raises(ValueError, match=rf"^{name}: .*got \(2, 6\) and \(2, 5\)"):
        build(name)(torch.zeros(2, 6), torch.zeros(2, 5))


@pytest.mark.parametrize("shape", [(6,), (0, 6), (2, 3, 6)], ids=str)
@every_loss
def test_logits_that_are_no_documents_by_labels_are_refused(name, shape):
    with pytest.raises(ValueError, match=f"^{name}: .*documents x labels"):
        build(name)(torch.zeros(shape), torch.zeros(shape))


@every_loss
def test_nan_logits_are_counted(name):
    logits = torch.zeros(2, 6)
    logits[0, 1] = logits[1, 4] = torch.nan
    with pytest.raises(ValueError, match=f"^{name}: 2 logits are NaN"):
        build(name)(logits, torch.zeros(2, 6), draw_context(rows=2))


@pytest.mark.parametrize("target", [-0.1, 1.1, 2.0, float("nan")])
@every_loss
def test_targets_outside_the_unit_interval_are_refused(name, target):
    targets = torch.zeros(2, 6)
    targets[1, 3] = target
    with pytest.raises(ValueError, match=rf"^{name}: targets must lie in \[0, 1\]"):
        build(name)(torch.zeros(2, 6), targets, draw_context(rows=2))


@every_loss
def test_soft_targets_are_taken_where_the_row_says_so(name):
    loss, soft = build(name), torch.full((2, 6), 0.3)
    if LOSSES[name].accepts_soft_targets:
        assert loss(torch.zeros(2, 6), soft, draw_context(rows=2)).isfinite()
    else:
        with pytest.raises(ValueError, match=f"^{name}: targets must be 0 or 1.*no soft targets"):
            loss(torch.zeros(2, 6), soft, draw_context(rows=2))


@pytest.mark.parametrize("name", [n for n, row in LOSSES.items() if "statistics" in row.needs])
def test_losses_with_statistics_refuse_another_number_of_labels(name):
    with pytest.raises(ValueError, match=f"^{name}: .*statistics have 6 labels, the logits 3"):
        build(name)(torch.zeros(1, 3), torch.zeros(1, 3), draw_context(rows=1, labels=3))


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("zlpr_rdrop", "second_logits"),
        ("mask_element", "mask"),
        ("kwls", "soft_targets"),
        ("ls_tfidf", "soft_targets"),
        ("ls_classic", "soft_targets"),
        ("ls_distill", "soft_targets"),
    ],
)
def test_missing_context_is_named_in_training_and_dispensable_in_evaluation(name, key):
    logits, targets = draw_batch()
    loss = build(name, {"alpha": 0.0} if name == "mask_element" else {})
    with pytest.raises(ValueError, match=rf"^{name}: context\['{key}'\].* missing"):
        loss(logits, targets)
    assert loss.eval()(logits, targets).isfinite()


def test_mask_of_another_shape_is_named():
    logits, targets = draw_batch()
    context = {"mask": torch.ones(5, 5), "lam": 0}
    with pytest.raises(ValueError, match=r"^mask_element: .*\(5, 6\), got \(5, 5\)"):
        build("mask_element", {}, STATISTICS)(logits, targets, context)


def test_a_context_that_no_loss_knows_is_named():
    with pytest.raises(ValueError, match=r"^bce: unknown context 'maks'; known: mask, "):
        build("bce")(torch.zeros(2, 6), torch.zeros(2, 6), {"maks": 1})
