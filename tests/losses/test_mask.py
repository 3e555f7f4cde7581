import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from loss_cases import (
    GROUPS,
    STATISTICS,
    as_tensors,
    batches,
    build,
    draw_batch,
    draw_context,
    mean,
    slow_bce,
    value_and_gradient,
)
from scipy.sparse import csr_array, csr_matrix

from losslab.losses import LabelStatistics, build_loss

OVERLAPPING = [[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 0], [0, 0, 1], [0, 0, 1]]
both = pytest.mark.parametrize("name", ["mask_label", "mask_element"])


def slow_masked(logits, targets, masked, lam):
    rows = []
    for row, carried, hidden in zip(logits, targets, masked, strict=True):
        entries = [slow_bce(z, y) for z, y in zip(row, carried, strict=True)]
        kept = [entry for entry, out in zip(entries, hidden, strict=True) if not out]
        rows.append((lam * sum(entries) + (1 - lam) * sum(kept)) / len(row))
    return mean(rows)


def slow_label_mask(targets, membership):
    """A negative is masked where one of its groups holds a gold label."""
    masks = []
    for carried in targets:
        gold = {g for c, y in enumerate(carried) if y for g, m in enumerate(membership[c]) if m}
        masks.append(
            [
                not y and any(m and g in gold for g, m in enumerate(membership[c]))
                for c, y in enumerate(carried)
            ]
        )
    return masks


@settings(deadline=None, derandomize=True, max_examples=50)
@given(batch=batches(), lam=st.sampled_from([0, 1, 0.5]))
def test_mask_label_is_its_equation(batch, lam):
    logits, targets = as_tensors(batch)
    membership = OVERLAPPING[: logits.shape[1]]
    statistics = LabelStatistics([1] * len(membership), 10)
    loss = build_loss("mask_label", statistics, groups=membership)
    slow = slow_masked(*batch, slow_label_mask(batch[1], membership), lam)
    assert loss(logits, targets, {"lam": lam}).item() == pytest.approx(slow, rel=1e-9, abs=1e-9)


@settings(deadline=None, derandomize=True, max_examples=50)
@given(batch=batches(), lam=st.sampled_from([0, 1, 0.5]), seed=st.integers(0, 99))
@pytest.mark.parametrize("protect_gold", [True, False])
def test_mask_element_is_its_equation(protect_gold, batch, lam, seed):
    logits, targets = as_tensors(batch)
    mask = torch.rand(targets.shape, generator=torch.Generator().manual_seed(seed)) < 0.5
    masked = mask & (targets == 0) if protect_gold else mask
    loss = build_loss("mask_element", protect_gold=protect_gold)
    value = loss(logits, targets, {"mask": mask, "lam": lam})
    slow = slow_masked(*batch, masked.tolist(), lam)
    assert value.item() == pytest.approx(slow, rel=1e-9, abs=1e-9)


@both
def test_always_whole_is_bce(name):
    batch = *draw_batch(), {"mask": draw_context()["mask"]}
    loss = build(name, {"alpha": 1.0})
    for _ in range(3):
        torch.testing.assert_close(
            value_and_gradient(loss, *batch), value_and_gradient(build_loss("bce"), *batch[:2])
        )


@both
def test_never_whole_always_masks(name):
    logits, targets = draw_batch()
    mask = draw_context()["mask"]
    loss = build(name, {"alpha": 0.0})
    masked = loss(logits, targets, {"mask": mask, "lam": 0})
    assert masked < build_loss("bce")(logits, targets)
    for _ in range(3):
        assert loss(logits, targets, {"mask": mask}) == masked


@both
def test_alpha_is_the_share_of_whole_steps(name):
    logits, targets = draw_batch()
    context = {"mask": draw_context()["mask"]}
    torch.manual_seed(0)
    loss = build(name, {"alpha": 0.25})
    whole = loss(logits, targets, context | {"lam": 1})
    drawn = [loss(logits, targets, context) == whole for _ in range(400)]
    assert 60 < sum(drawn) < 140


@both
def test_evaluation_masks_nothing(name):
    batch = draw_batch()
    loss = build(name, {"alpha": 0.0}).eval()
    torch.testing.assert_close(loss(*batch), build_loss("bce")(*batch))


@both
def test_masked_entries_pass_no_gradient(name):
    logits, targets = draw_batch()
    targets[:, 2], targets[:, 3] = 1, 0  # labels 2 and 3 share a group
    context = {"mask": torch.ones_like(targets), "lam": 0}
    _, gradient = value_and_gradient(build(name), logits, targets, context)
    assert not gradient[:, 3].any()
    assert (gradient[targets == 1] < 0).all()


@pytest.mark.parametrize(
    "groups",
    [
        GROUPS,
        [7, 7, 3, 3, 3, 5],
        torch.tensor(GROUPS),
        torch.nn.functional.one_hot(torch.tensor(GROUPS)),
        torch.nn.functional.one_hot(torch.tensor(GROUPS)).to_sparse(),
        csr_matrix(torch.nn.functional.one_hot(torch.tensor(GROUPS)).numpy()),
        csr_array(torch.nn.functional.one_hot(torch.tensor(GROUPS)).numpy()),
    ],
    ids=["list", "any ids", "tensor", "membership", "sparse tensor", "matrix", "scipy"],
)
def test_groups_may_come_in_any_form(groups):
    batch = *draw_batch(), {"lam": 0}
    assert build("mask_label", {}, groups=groups)(*batch) == build("mask_label")(*batch)


def test_groups_for_another_number_of_labels_are_refused():
    with pytest.raises(ValueError, match="mask_label: groups are given for 2 labels, expected 6"):
        build_loss("mask_label", STATISTICS, groups=[0, 1])


def test_missing_groups_are_asked_for():
    with pytest.raises(ValueError, match="mask_label needs label groups"):
        build_loss("mask_label", STATISTICS)


def test_thousands_of_pairs_of_labels_mask_each_other():
    labels = 20_000  # as labels x groups they would fill gigabytes
    groups = [label // 2 for label in range(labels)]
    loss = build_loss("mask_label", LabelStatistics([1] * labels, 9), groups=groups)
    targets = torch.zeros(2, labels)
    targets[0, 11], targets[1, 0] = 1, 1
    masked = loss.masked(targets, {}).nonzero().tolist()
    assert masked == [[0, 10], [1, 1]]
