from statistics import fmean, median

import numpy as np
import pytest
from scipy import sparse

from losslab.supervision import (
    cooccurrence,
    describe_labels,
    frequency_groups,
    rebalancing_mu,
    tabulate_labels,
)


def draw_targets(rows=300, labels=7, seed=0):
    """More than 127 documents per label: a count kept in eight bits would overflow."""
    shares = np.geomspace(0.9, 0.02, labels)
    return (np.random.default_rng(seed).random((rows, labels)) < shares).astype(np.int8)


def as_matrix(dense):
    return sparse.csr_array(np.asarray(dense, dtype=np.int8))


def slow_mu(dense):
    frequencies = dense.astype(int).sum(axis=0)
    ratios = []
    for row in dense:
        carried = np.flatnonzero(row)
        total = sum(1 / frequencies[label] for label in carried)
        ratios += [(1 / frequencies[label]) / total for label in carried]
    return (fmean(ratios) + median(ratios)) / 2


def test_figures_agree_with_numpy():
    dense = draw_targets()
    figures = describe_labels(as_matrix(dense))
    frequencies = dense.astype(int).sum(axis=0)
    assert figures["documents"] == 300
    assert figures["labels"] == 7
    assert figures["frequencies"] == frequencies.tolist()
    assert figures["cardinality"] == pytest.approx(dense.sum(axis=1).mean())
    assert figures["density"] == pytest.approx(dense.mean())
    assert figures["imbalance_ratio"] == pytest.approx(frequencies.max() / frequencies.min())
    assert figures["documents_without_labels"] == (dense.sum(axis=1) == 0).sum() > 0
    assert figures["labels_absent"] == 0
    assert figures["mu"] == pytest.approx(slow_mu(dense), rel=1e-12)


def test_imbalance_is_among_the_labels_present():
    figures = describe_labels(as_matrix([[1, 0, 1], [1, 0, 0], [1, 0, 0]]))
    assert figures["imbalance_ratio"] == 3
    assert figures["labels_absent"] == 1


def test_documents_without_any_label_have_no_imbalance_and_no_mu():
    figures = describe_labels(as_matrix(np.zeros((4, 2))))
    assert figures["imbalance_ratio"] is None
    assert figures["mu"] is None
    assert figures["cardinality"] == 0
    assert figures["documents_without_labels"] == 4


def test_cooccurrence_agrees_with_the_dense_product():
    dense = draw_targets()
    counts = cooccurrence(as_matrix(dense)).toarray()
    assert np.array_equal(counts, dense.T.astype(int) @ dense.astype(int))
    assert counts.max() > 127
    assert np.diag(counts).tolist() == dense.astype(int).sum(axis=0).tolist()


def test_groups_follow_the_cut_offs_inclusively():
    groups = frequency_groups([36, 35, 34, 9, 8, 0], head_min=35, tail_max=8)
    assert groups == ["head", "head", "medium", "medium", "tail", "tail"]


def test_groups_are_thirds_without_cut_offs():
    groups = frequency_groups([5, 60, 1, 40, 20, 10])
    assert groups == ["tail", "head", "tail", "head", "medium", "medium"]


def test_ties_between_thirds_go_to_the_label_that_comes_first():
    assert frequency_groups([4, 4, 4]) == ["head", "medium", "tail"]
    frequencies = [label % 5 for label in range(300)]
    order = sorted(range(300), key=lambda label: (-frequencies[label], label))
    groups = frequency_groups(frequencies)
    assert [groups[label] for label in order] == (
        ["head"] * 100 + ["medium"] * 100 + ["tail"] * 100
    )


@pytest.mark.parametrize(("labels", "sizes"), [(33, (11, 11, 11)), (7, (3, 2, 2)), (1, (1, 0, 0))])
def test_thirds_are_as_equal_as_can_be(labels, sizes):
    groups = frequency_groups(list(range(labels)))
    assert tuple(groups.count(name) for name in ("head", "medium", "tail")) == sizes


def test_no_labels_make_no_groups():
    assert frequency_groups([]) == []


@pytest.mark.parametrize("seed", range(5))
def test_mu_agrees_with_a_slow_loop(seed):
    dense = draw_targets(rows=60, seed=seed)
    assert rebalancing_mu(as_matrix(dense)) == pytest.approx(slow_mu(dense), rel=1e-12)


def test_mu_of_one_label_per_document_is_one():
    assert rebalancing_mu(as_matrix(np.eye(4)[[0, 1, 1, 3]])) == 1


def test_mu_is_halfway_between_mean_and_median():
    # n = (2, 1): the first document's ratios are 1/3 and 2/3, the second's is 1.
    mu = rebalancing_mu(as_matrix([[1, 1], [1, 0]]))
    assert mu == pytest.approx((2 / 3 + 2 / 3) / 2)
    # n = (3, 1): 1/4, 3/4, 1 and 1, so the mean is 3/4 and the median 7/8.
    mu = rebalancing_mu(as_matrix([[1, 1], [1, 0], [1, 0]]))
    assert mu == pytest.approx((3 / 4 + 7 / 8) / 2)


def test_table_lists_labels_by_frequency_in_the_first_split():
    table = tabulate_labels(
        ["b", "a", "c"],
        ["head", "tail", "medium"],
        train=as_matrix([[0, 0, 1], [1, 1, 1]]),
        test=as_matrix([[1, 0, 0]]),
    )
    assert table.to_dict("list") == {
        "label": ["c", "a", "b"],
        "group": ["medium", "tail", "head"],
        "train": [2, 1, 1],
        "test": [0, 0, 1],
    }
    assert table.index.tolist() == [0, 1, 2]
