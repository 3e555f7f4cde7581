"""Several processes as one: each computes its share, every loss sees the whole."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, distributed, nn

from losslab.features.encoder import default_device


def process_rank() -> int:
    """Which of the processes this is; 0 where it is alone."""
    return distributed.get_rank() if _together() else 0


def process_count() -> int:
    """How many processes train together."""
    return distributed.get_world_size() if _together() else 1


def own_share(places: np.ndarray) -> np.ndarray:
    """This process's rows of a batch; all get the same number, so the first may come twice."""
    count = process_count()
    whole = np.resize(places, -(-len(places) // count) * count)
    return whole[process_rank() :: count]


def gather_rows(rows: Tensor, total: int) -> Tensor:
    """The shares of all processes as the batch of ``total`` rows they were taken from.

    Rows that only filled up a share are dropped; gradients find their way back. Each process then
    computes the same loss of the same rows. The gradient of a row is the sum of what the processes
    send back, and their average over processes, which DistributedDataParallel takes, is the
    gradient one process would have.
    """
    if not _together():
        return rows
    from torch.distributed.nn.functional import all_gather

    return torch.stack(all_gather(rows.contiguous()), dim=1).flatten(0, 1)[:total]


def gather_objects(objects: list[Any]) -> list[Any]:
    """The objects of all processes, in their order."""
    if not _together():
        return objects
    everyone: list[list[Any]] = [[] for _ in range(process_count())]
    distributed.all_gather_object(everyone, objects)
    return [each for part in everyone for each in part]


def as_the_first(thing: Any) -> Any:
    """What the first process passes, in all of them."""
    if not _together():
        return thing
    told = [thing]
    distributed.broadcast_object_list(told, src=0)
    return told[0]


def own_device() -> torch.device:
    """The device this process computes on: where several do, a GPU each."""
    device = default_device()
    return torch.device("cuda", process_rank()) if device.type == "cuda" and _together() else device


def together(network: nn.Module, device: torch.device) -> nn.Module:
    """``network``, its gradients averaged over the processes."""
    if not _together():
        return network
    own = [device] if device.type == "cuda" else None
    return nn.parallel.DistributedDataParallel(network, device_ids=own)


def _together() -> bool:
    return distributed.is_available() and distributed.is_initialized()
