import platform
import subprocess
import sys

import pytest
import torch

from losslab.training.resources import cpu_threads

KEEPS_HOLES = """
import psutil
from contextlib import nullcontext
import torch
from losslab.training.resources import lean_allocator

def held():
    return psutil.Process().memory_info().rss / 2**20

del_me = torch.ones(7 * 2**20)   # 28 MB, freed: glibc now takes less than that from its heap
del del_me
with {context}():
    before = held()
    blocks = [torch.ones(2 * 2**20) for _ in range(20)]  # 8 MB each
    blocks = blocks[-1:]
    print(held() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc is told")
def test_large_blocks_go_back_to_the_system_although_a_later_one_is_kept():
    kept = {
        context: float(
            subprocess.run(
                [sys.executable, "-c", KEEPS_HOLES.format(context=context)],
                capture_output=True,
                check=True,
                text=True,
            ).stdout
        )
        for context in ("lean_allocator", "nullcontext")
    }
    assert kept["lean_allocator"] < 20 < 100 < kept["nullcontext"]


def test_threads_are_limited_for_a_while():
    before = torch.get_num_threads()
    with cpu_threads(1):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before
