import platform

import psutil
import pytest
import torch

from losslab.training.resources import cpu_threads, freed_memory_kept

GIGABYTE = 2**30


def test_threads_are_limited_for_a_while():
    before = torch.get_num_threads()
    with cpu_threads(1):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before


def resident_after_a_gigabyte() -> int:
    """What the process holds after it used a gigabyte and gave it up."""
    torch.ones(GIGABYTE // 4)
    return psutil.Process().memory_info().rss


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other allocators are left alone")
def test_freed_memory_is_kept_for_a_while():
    before = resident_after_a_gigabyte()
    with freed_memory_kept():
        within = resident_after_a_gigabyte()
    after = psutil.Process().memory_info().rss
    assert within - before > 0.9 * GIGABYTE
    assert after - before < 0.1 * GIGABYTE
    assert resident_after_a_gigabyte() - before < 0.1 * GIGABYTE
