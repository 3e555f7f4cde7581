"""Distributed data parallel: ranks, collectives, and the device, threads and precision of each."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import psutil
import torch
from torch import Tensor, distributed, nn

from losslab.features.inputs import default_device

T = TypeVar("T")


def is_distributed() -> bool:
    """Whether this process belongs to a process group."""
    return distributed.is_available() and distributed.is_initialized()


def get_rank() -> int:
    """The rank of this process; 0 without a process group."""
    return distributed.get_rank() if is_distributed() else 0


def world_size() -> int:
    """The number of processes that train one model."""
    return distributed.get_world_size() if is_distributed() else 1


def local_rows(indices: np.ndarray) -> np.ndarray:
    """This rank's rows of a batch; padded with the first rows so that all ranks get as many."""
    count = world_size()
    padded = np.resize(indices, -(-len(indices) // count) * count)
    return padded[get_rank() :: count]


def gather_rows(rows: Tensor, total: int) -> Tensor:
    """All-gather the local rows into the batch of ``total`` rows they came from, with gradients.

    Padding rows are dropped. Each rank then computes the same loss of the same rows: the gradient
    of a row is the sum of what all ranks send back, and DDP's mean over ranks is the gradient a
    single process would have.
    """
    if not is_distributed():
        return rows
    all_gather: Callable[[Tensor], Tensor] = _AllGather.apply
    return all_gather(rows).flatten(0, 1)[:total]


class _AllGather(torch.autograd.Function):
    """The tensors of all ranks, stacked at dimension 1; the gradient is summed over ranks."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor) -> Tensor:
        parts = [torch.empty_like(rows) for _ in range(world_size())]
        distributed.all_gather(parts, rows.contiguous())
        return torch.stack(parts, dim=1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        total = gradients[0].contiguous()
        distributed.all_reduce(total)
        return total[:, get_rank()]


def gather_objects(objects: list[T]) -> list[T]:
    """The objects of all ranks, in the order of ranks."""
    if not is_distributed():
        return objects
    by_rank: list[list[T]] = [[] for _ in range(world_size())]
    distributed.all_gather_object(by_rank, objects)
    return [each for part in by_rank for each in part]


def broadcast_from_rank0(value: T) -> T:
    """Rank 0's ``value``, on all ranks."""
    if not is_distributed():
        return value
    values = [value]
    distributed.broadcast_object_list(values, src=0)
    return values[0]


def wrap_ddp(network: nn.Module, device: torch.device) -> nn.Module:
    """``network`` in DistributedDataParallel, if there is a process group."""
    if not is_distributed():
        return network
    devices = [device] if device.type == "cuda" else None
    return nn.parallel.DistributedDataParallel(network, device_ids=devices)


def local_device() -> torch.device:
    """The device of this process; one GPU per rank."""
    device = default_device()
    one_each = device.type == "cuda" and is_distributed()
    return torch.device("cuda", get_rank()) if one_each else device


@contextmanager
def cpu_threads(number: int | None) -> Iterator[None]:
    """Limit PyTorch to ``number`` CPU threads while the block runs; None changes nothing."""
    before = torch.get_num_threads()
    torch.set_num_threads(number or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def resolve_precision(precision: str) -> torch.dtype:
    """The dtype of autocast; ``auto`` is bfloat16 or float16 on CUDA, else float32."""
    if precision == "auto":
        cuda = torch.cuda.is_available()
        bfloat16 = cuda and torch.cuda.is_bf16_supported(including_emulation=False)
        precision = "bfloat16" if bfloat16 else "float16" if cuda else "float32"
    return {"bfloat16": torch.bfloat16, "float16": torch.float16}.get(precision, torch.float32)


def memory_in_use(device: torch.device) -> float:
    """Memory in GB: the peak allocation on CUDA, the resident set size on a CPU."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device) / 1e9
    return float(psutil.Process().memory_info().rss) / 1e9
