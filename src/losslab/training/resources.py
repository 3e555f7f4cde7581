"""What a training may take of the machine: threads, memory and precision."""

import ctypes
import platform
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import torch

# mallopt's numbers for settings of glibc's allocator, as malloc.h has them
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3


@contextmanager
def cpu_threads(number: int | None) -> Iterator[None]:
    """Compute with ``number`` threads while the block runs; None changes nothing."""
    before = torch.get_num_threads()
    torch.set_num_threads(number or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Keep what is freed for the next allocation while the block runs, then give it back.

    By itself glibc returns the end of its heap to the system whenever a step has freed it, and gets
    it back page by page, each set to zero (``benchmarks/step_time.py``). Blocks above 32 MB are
    returned here as well: of many sizes, they would leave gaps. Other allocators are left alone.
    """
    if platform.libc_ver()[0] != "glibc":
        yield
        return
    libc = ctypes.CDLL(None)
    libc.mallopt(MMAP_THRESHOLD, 2**25)
    libc.mallopt(TRIM_THRESHOLD, -1)
    try:
        yield
    finally:  # glibc raises both by itself up to 2**25 and 2**26, but not once one was set
        libc.mallopt(TRIM_THRESHOLD, 2**26)
        libc.malloc_trim(0)


def choose_precision(asked: str) -> torch.dtype:
    """What the model computes in; ``auto`` is half precision on CUDA, the kind it has."""
    if asked == "auto":
        cuda = torch.cuda.is_available()
        half = cuda and torch.cuda.is_bf16_supported(including_emulation=False)
        asked = "bfloat16" if half else "float16" if cuda else "float32"
    return {"bfloat16": torch.bfloat16, "float16": torch.float16}.get(asked, torch.float32)


def memory_in_use(device: torch.device) -> float:
    """Gigabytes in use: the most since the start on CUDA, what the process holds on a CPU."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 1e9
    return float(psutil.Process().memory_info().rss) / 1e9
