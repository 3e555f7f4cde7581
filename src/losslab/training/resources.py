"""What a training may take of the machine: threads and memory."""

import ctypes
import platform
from collections.abc import Iterator
from contextlib import contextmanager

import torch

M_MMAP_THRESHOLD = -3  # of malloc.h
OWN_BLOCKS, USUAL = 4 * 2**20, 32 * 2**20


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
def lean_allocator() -> Iterator[None]:
    """While the block runs, memory of 4 MB and more goes back to the system when it is freed.

    Left alone, glibc raises that limit to 32 MB, and the activations of a transformer leave holes
    in its heap: a quarter more memory for the same work. Other allocators stay as they are.
    """
    if platform.libc_ver()[0] != "glibc":
        yield
        return
    allocator = ctypes.CDLL(None)
    allocator.mallopt(M_MMAP_THRESHOLD, OWN_BLOCKS)
    try:
        yield
    finally:
        allocator.mallopt(M_MMAP_THRESHOLD, USUAL)
