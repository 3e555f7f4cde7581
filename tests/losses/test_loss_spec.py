import numpy as np
import pytest
import torch

from losslab.losses import LabelStatistics, Option


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


def test_option_limits_include_their_ends():
    option = Option(0.5, "a test", minimum=0, maximum=1)
    option.check("share", 0)
    option.check("share", 1)
    with pytest.raises(ValueError, match=r"^share must be <= 1, got 1\.5$"):
        option.check("share", 1.5)


def test_frequencies_must_be_whole_numbers():
    with pytest.raises(ValueError, match="whole numbers"):
        LabelStatistics(frequencies=[2.7], documents=4)


def test_an_option_whose_default_is_whole_takes_whole_numbers():
    option = Option(0, "somewhere", minimum=0)
    option.check("pairs", 3)
    option.check("pairs", 3.0)
    with pytest.raises(ValueError, match=r"pairs must be a whole number, got 0\.5"):
        option.check("pairs", 0.5)
