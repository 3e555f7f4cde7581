import platform

import numpy as np
import psutil
import pytest
import torch

from losslab.training.resources import cpu_threads, freed_memory_kept

BLOCKS, SIZE = 64, 2**24


def test_threads_are_limited_for_a_while():
    before = torch.get_num_threads()
    with cpu_threads(1):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


def resident_after_use() -> int:
    """What the process holds after it used a gigabyte, in blocks of 16 MB, and gave it up.

    NumPy's, since PyTorch has an allocator of its own on some machines.
    """
    blocks = [np.ones(SIZE // 8) for _ in range(BLOCKS)]
    blocks.clear()
    return psutil.Process().memory_info().rss


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators are left alone")
def test_freed_memory_is_kept_for_a_while():
    before = resident_after_use()
    with freed_memory_kept():
        within = resident_after_use()
    after = psutil.Process().memory_info().rss
    assert within - before > 0.8 * BLOCKS * SIZE
    assert after - before < 0.1 * BLOCKS * SIZE
    assert resident_after_use() - before < 0.1 * BLOCKS * SIZE
