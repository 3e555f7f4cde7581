"""What a training may take of the machine: threads, memory and precision."""

import ctypes
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Self

import psutil
import torch

# mallopt's numbers for settings of glibc's allocator, as malloc.h has them
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3
LARGEST_IN_HEAP = 2**25  # bytes; glibc takes no more


@contextmanager
def cpu_threads(number: int | None) -> Iterator[None]:
    """Compute with ``number`` threads while the block runs; None changes nothing."""
    before = torch.get_num_threads()
    torch.set_num_threads(number or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class KeptMemory:
    """Keeps what is freed for the next allocation while the block runs, then gives it back.

    By itself glibc returns the end of its heap to the system whenever a step has freed it, and gets
    it back page by page, each set to zero (``benchmarks/step_time.py``). Blocks of many sizes leave
    gaps, though, and a heap that is never returned grows from step to step: once it is as large as
    a training needs, ``stop_growing`` has what does not fit come from the system and return there
    (``benchmarks/training_memory.py``). Other allocators are left alone.
    """

    def __init__(self) -> None:
        self._libc: ctypes.CDLL | None = None

    def __enter__(self) -> Self:
        if platform.libc_ver()[0] == "glibc":
            self._libc = ctypes.CDLL(None)
            self._libc.mallopt(MMAP_THRESHOLD, LARGEST_IN_HEAP)
            self._libc.mallopt(TRIM_THRESHOLD, -1)
        return self

    def stop_growing(self) -> None:
        """Large blocks that fit in no gap are no longer put at the end of the heap."""
        if self._libc is not None:
            self._libc.mallopt(MMAP_THRESHOLD, 2**20)

    def __exit__(self, *exception: object) -> None:
        if self._libc is None:
            return
        # glibc raises both by itself up to these values, but not once one was set
        self._libc.mallopt(MMAP_THRESHOLD, LARGEST_IN_HEAP)
        self._libc.mallopt(TRIM_THRESHOLD, 2 * LARGEST_IN_HEAP)
        self._libc.malloc_trim(0)
        self._libc = None


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
