import torch

from losslab.training.resources import cpu_threads


def test_threads_are_limited_for_a_while():
    before = torch.get_num_threads()
    with cpu_threads(1):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before
