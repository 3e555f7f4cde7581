import numpy as np
import pytest
import torch
from scipy import sparse

from losslab.losses import LabelStatistics
from losslab.supervision import rebalancing_mu


@pytest.mark.parametrize("container", [list, tuple, np.array, torch.tensor])
def test_frequencies_may_come_in_any_container(container):
    statistics = LabelStatistics(container([4, 0, 2]), 4)
    assert statistics.frequencies == (4, 0, 2)
    assert all(type(count) is int for count in statistics.frequencies)
    assert statistics.mu is None


@pytest.mark.parametrize("count", [-1, 11])
def test_impossible_frequency_is_named_with_its_label(count):
    with pytest.raises(ValueError, match=f"label 1 has frequency {count}, expected 0 to 10"):
        LabelStatistics([3, count], 10)


def test_statistics_of_no_documents_are_refused():
    with pytest.raises(ValueError, match="documents must be at least 1, got 0"):
        LabelStatistics([0], 0)


def test_frequencies_must_be_whole_numbers():
    with pytest.raises(ValueError, match="whole numbers"):
        LabelStatistics(frequencies=[2.7], documents=4)


@pytest.mark.parametrize("kind", [torch.bool, torch.int64, torch.float32])
@pytest.mark.parametrize("rows", [7, 8, 200])
def test_statistics_of_targets_are_those_of_the_corpus(rows, kind):
    targets = torch.rand(rows, 9, generator=torch.Generator().manual_seed(rows)) < 0.3
    targets[0], targets[:, 4] = False, False
    statistics = LabelStatistics.from_targets(targets.to(kind))
    assert statistics.frequencies == tuple(targets.sum(dim=0).tolist())
    assert statistics.documents == rows
    expected = rebalancing_mu(sparse.csr_array(targets.double().numpy()))
    assert statistics.mu == pytest.approx(expected, rel=1e-12)


def test_targets_without_labels_have_no_mu():
    assert LabelStatistics.from_targets(torch.zeros(3, 2)) == LabelStatistics([0, 0], 3)
