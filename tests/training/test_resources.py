import platform

import numpy as np
import psutil
import pytest
import torch

from losslab.training.resources import KeptMemory, choose_precision, cpu_threads

BLOCKS, SIZE = 64, 2**24


@pytest.mark.parametrize(
    ("cuda", "bfloat16", "expected"),
    [
        (False, False, torch.float32),
        (True, False, torch.float16),
        (True, True, torch.bfloat16),
    ],
)
def test_precision_is_what_the_device_is_quick_with(cuda, bfloat16, expected, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda **_: bfloat16)
    assert choose_precision("auto") == expected
    assert choose_precision("bfloat16") == torch.bfloat16
    assert choose_precision("float32") == torch.float32


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


GLIBC = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="other allocators are left alone"
)


@GLIBC
def test_freed_memory_is_kept_for_a_while():
    before = resident_after_use()
    with KeptMemory():
        within = resident_after_use()
    after = psutil.Process().memory_info().rss
    assert within - before > 0.8 * BLOCKS * SIZE
    assert after - before < 0.1 * BLOCKS * SIZE
    assert resident_after_use() - before < 0.1 * BLOCKS * SIZE


@GLIBC
def test_what_is_kept_grows_no_more():
    with KeptMemory() as memory:
        few = [np.ones(SIZE // 8) for _ in range(4)]
        few.clear()
        memory.stop_growing()
        before = psutil.Process().memory_info().rss
        assert resident_after_use() - before < 0.1 * BLOCKS * SIZE
