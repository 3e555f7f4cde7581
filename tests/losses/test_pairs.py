import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from loss_cases import as_tensors, batches, draw_batch, mean, value_and_gradient
from torch.nn import functional as F  # noqa: N812

from losslab.losses import build_loss, pairs

NAMES = ["ranking", "warp", "bpmll", "lsep"]


def split(row, carried):
    positives = [z for z, y in zip(row, carried, strict=True) if y]
    return positives, [z for z, y in zip(row, carried, strict=True) if not y]


def slow_hinge(logits, targets, margin, ranked):
    totals = []
    for row, carried in zip(logits, targets, strict=True):
        positives, negatives = split(row, carried)
        totals.append(
            sum(
                max(0.0, margin + low - high) * (1 + sum(z > high for z in row) if ranked else 1)
                for high in positives
                for low in negatives
            )
        )
    return mean(totals)


def slow_exponentials(logits, targets):
    """The sum over pairs of each row that has both, and how many rows there are."""
    sums = []
    for row, carried in zip(logits, targets, strict=True):
        positives, negatives = split(row, carried)
        if positives and negatives:
            sums.append(sum(math.exp(low - high) for high in positives for low in negatives))
    return sums, len(logits)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(batch=batches(), margin=st.sampled_from([0.0, 0.5, 1.0, 4.0]))
@pytest.mark.parametrize(("name", "ranked"), [("ranking", False), ("warp", True)])
def test_hinge_is_its_equation(name, ranked, batch, margin):
    value = build_loss(name, margin=margin)(*as_tensors(batch))
    slow = slow_hinge(*batch, margin, ranked)
    assert value.item() == pytest.approx(slow, rel=1e-9, abs=1e-9)


def all_pairs(logits, targets, margin, ranked):
    """The equation by documents x labels x labels, for autograd to differentiate."""
    gaps = (margin + logits.unsqueeze(1) - logits.unsqueeze(2)).clamp_min(0)
    pairs = targets.unsqueeze(2) * (1 - targets).unsqueeze(1)
    if ranked:
        higher = logits.detach().unsqueeze(1) > logits.detach().unsqueeze(2)
        pairs = pairs * (1 + higher.sum(dim=2)).unsqueeze(2)
    return (gaps * pairs).sum() / len(logits)


@pytest.mark.parametrize(("name", "ranked"), [("ranking", False), ("warp", True)])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_hinge_of_many_labels_is_its_equation(name, ranked, share):
    logits, targets = draw_batch(rows=4, labels=80)
    logits = logits.round(decimals=1)  # so that many tie
    targets = (torch.rand(4, 80, generator=torch.Generator().manual_seed(2)) < share).double()

    def expected(z, y, context):
        return all_pairs(z, y, 1.05, ranked)

    torch.testing.assert_close(
        value_and_gradient(build_loss(name, margin=1.05), logits, targets),
        value_and_gradient(expected, logits, targets),
    )


@settings(deadline=None, derandomize=True, max_examples=60)
@given(batch=batches())
def test_bpmll_is_the_mean_logarithm_over_rows_with_both(batch):
    sums, _ = slow_exponentials(*batch)
    slow = mean(map(math.log, sums)) if sums else 0.0
    value = build_loss("bpmll")(*as_tensors(batch))
    assert value.item() == pytest.approx(slow, rel=1e-9, abs=1e-9)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(batch=batches())
def test_lsep_is_the_logarithm_of_one_more_over_all_rows(batch):
    sums, rows = slow_exponentials(*batch)
    value = build_loss("lsep")(*as_tensors(batch))
    assert value.item() == pytest.approx(sum(map(math.log1p, sums)) / rows, rel=1e-9, abs=1e-9)


def test_lsep_is_the_softplus_of_bpmll_row_by_row():
    logits, targets = draw_batch()
    targets[:, 0], targets[:, 1] = 1, 0
    for row in range(5):
        one = logits[[row]], targets[[row]]
        expected = F.softplus(build_loss("bpmll")(*one))
        torch.testing.assert_close(build_loss("lsep")(*one), expected)


@settings(deadline=None, derandomize=True, max_examples=30)
@given(batch=batches())
def test_warp_is_at_least_ranking(batch):
    batch = as_tensors(batch)
    assert build_loss("warp")(*batch) >= build_loss("ranking")(*batch) - 1e-9


def test_warp_rank_passes_no_gradient():
    logits, targets = torch.tensor([[0.0, 1.0, 2.0]]), torch.tensor([[1, 0, 0]])
    value, gradient = value_and_gradient(build_loss("warp"), logits, targets)
    assert value == 3 * (2 + 3)  # the positive is third; margins are missed by 2 and 3
    assert gradient.tolist() == [[-6, 3, 3]]


@pytest.mark.parametrize("fill", [0.0, 1.0], ids=["empty", "full"])
@pytest.mark.parametrize("name", NAMES)
def test_batch_without_pairs_is_zero_and_attached_to_the_graph(name, fill):
    logits, targets = draw_batch()
    value, gradient = value_and_gradient(build_loss(name), logits, torch.full_like(targets, fill))
    assert value == 0
    assert not gradient.any()


@pytest.mark.parametrize(("name", "share"), [("ranking", 0.5), ("lsep", 0.5), ("bpmll", 1.0)])
def test_rows_without_pairs_count_in_the_mean_but_for_bpmll(name, share):
    logits, targets = torch.tensor([[0.3, 1.0], [5.0, -2.0]]), torch.tensor([[1, 0], [0, 0]])
    loss = build_loss(name)
    torch.testing.assert_close(loss(logits, targets), share * loss(logits[:1], targets[:1]))


@settings(deadline=None, derandomize=True, max_examples=30)
@given(batch=batches(), shift=st.integers(-50, 50))
@pytest.mark.parametrize("name", NAMES)
def test_only_differences_of_scores_count(name, batch, shift):
    logits, targets = as_tensors(batch)
    logits = (logits * 8).round() / 8  # so that the shift rounds nothing, and ties stay ties
    loss = build_loss(name)
    torch.testing.assert_close(loss(logits + shift, targets), loss(logits, targets))


@pytest.mark.parametrize("name", NAMES)
def test_scores_are_the_logits(name):
    logits, _ = draw_batch()
    assert torch.equal(build_loss(name).scores(logits), logits)


def test_lsep_of_one_pair_is_that_pair_however_many_are_asked_for():
    logits, targets = torch.zeros(1, 2), torch.tensor([[1, 0]])
    value = build_loss("lsep", pairs=100)(logits, targets)
    assert value.item() == pytest.approx(math.log(2))


@pytest.mark.parametrize("asked", [1, 4, 8, 9, 10, 100])
def test_lsep_sums_over_as_many_pairs_as_asked_for_and_there_are(asked):
    logits = torch.zeros(3, 6)
    targets = torch.tensor([[1, 0, 0, 1, 0, 1], [0, 1, 0, 0, 0, 0], [1] * 6])
    there = [9, 5, 0]
    expected = mean(math.log1p(min(asked, pairs)) for pairs in there)
    value = build_loss("lsep", pairs=asked)(logits, targets)
    assert value.item() == pytest.approx(expected)


def test_lsep_of_no_fewer_pairs_than_there_are_is_the_full_loss():
    batch = draw_batch()
    torch.testing.assert_close(
        value_and_gradient(build_loss("lsep", pairs=9), *batch),
        value_and_gradient(build_loss("lsep"), *batch),
        rtol=0,
        atol=0,
    )


def test_lsep_draws_pairs_of_a_positive_and_a_negative():
    logits, targets = torch.tensor([[9.0, 1.0, 1.0, 9.0]]), torch.tensor([[1, 0, 0, 1]])
    loss = build_loss("lsep", pairs=3)
    for _ in range(20):
        value, gradient = value_and_gradient(loss, logits, targets)
        assert value.item() == pytest.approx(math.log1p(3 * math.exp(-8)), rel=1e-3)
        assert (gradient[targets == 1] <= 0).all()
        assert (gradient[targets == 0] >= 0).all()


def test_lsep_over_a_draw_is_its_equation():
    logits, targets = draw_batch(rows=1, labels=7)
    targets[0] = torch.tensor([1, 0, 1, 0, 0, 1, 0])
    differences = [
        (logits[0, low] - logits[0, high]).item()
        for high in range(7)
        for low in range(7)
        if targets[0, high] > targets[0, low]
    ]
    possible = [
        math.log1p(math.exp(a) + math.exp(b)) for a, b in itertools.combinations(differences, 2)
    ]
    loss = build_loss("lsep", pairs=2)
    values = {round(loss(logits, targets).item(), 9) for _ in range(600)}
    assert values == {round(value, 9) for value in possible}


@pytest.mark.parametrize("size", [4, 5, 6, 7, 12])
def test_every_subset_is_drawn_as_often(size):
    generator = torch.Generator().manual_seed(0)
    drawn = pairs.draw_distinct(torch.full((30_000, 1), size), 3, generator)
    assert drawn.min() >= 0
    assert drawn.max() < size
    subsets, counts = drawn.sort(dim=1).values.unique(dim=0, return_counts=True)
    assert (subsets[:, 1:] > subsets[:, :-1]).all()
    expected = 30_000 / math.comb(size, 3)
    assert len(counts) == math.comb(size, 3)
    chi_square = ((counts - expected) ** 2 / expected).sum().item()
    degrees = len(counts) - 1
    assert chi_square < degrees + 5 * math.sqrt(2 * degrees)


def test_rows_of_very_different_sizes_are_drawn_together():
    sizes = torch.tensor([[101], [199], [200], [201], [10**9]])
    drawn = pairs.draw_distinct(sizes, 100, torch.Generator().manual_seed(0))
    assert (drawn < sizes).all()
    assert all(len(row.unique()) == 100 for row in drawn)


def test_lsep_takes_all_pairs_in_evaluation():
    batch = draw_batch()
    assert build_loss("lsep", pairs=2).eval()(*batch) == build_loss("lsep")(*batch)


@pytest.mark.parametrize(("name", "ranked"), [("ranking", False), ("warp", True)])
def test_hinge_function_is_the_module(name, ranked):
    batch = draw_batch()
    assert pairs.hinge_pairs(*batch, margin=1.0, ranked=ranked) == build_loss(name)(*batch)


def test_pair_function_marks_the_rows_that_have_both():
    logits, targets = draw_batch(rows=3)
    targets[0], targets[1], targets[2, 0], targets[2, 1] = 0, 1, 0, 1
    total, defined = pairs.pair_logsumexp(logits, targets)
    assert defined.tolist() == [False, False, True]
    assert total[:2].tolist() == [0, 0]
    torch.testing.assert_close(total[2], build_loss("bpmll")(logits, targets))
