"""What a training may take of the machine: threads, memory and precision."""

from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import torch


@contextmanager
def cpu_threads(number: int | None) -> Iterator[None]:
    """Compute with ``number`` threads while the block runs; None changes nothing."""
    before = torch.get_num_threads()
    torch.set_num_threads(number or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


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
