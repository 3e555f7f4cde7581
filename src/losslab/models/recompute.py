"""What is cheaper to compute again than to keep until the backward pass."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

VIEWS = {"ViewBackward0", "UnsafeViewBackward0"}
Kept = Tensor | tuple[Any, torch.Size]


def gelu_recomputed() -> AbstractContextManager[None]:
    """A forward pass in this block keeps the input of every GELU, and not its output besides.

    The output is the widest tensor of a transformer's layer, and of all the quickest to compute
    again: MiniLM with 32 documents of 256 tokens takes 0.3 GB less, and no longer.
    """
    return nullcontext() if torch.compiler.is_compiling() else saved_tensors_hooks(_pack, _unpack)


def _pack(saved: Tensor) -> Kept:
    node = saved.grad_fn
    while node is not None and node.name() in VIEWS:
        node = node.next_functions[0][0]
    is_gelu = node is not None and node.name() == "GeluBackward0"
    return (node, saved.shape) if is_gelu else saved


def _unpack(kept: Kept) -> Tensor:
    if isinstance(kept, Tensor):
        return kept
    node, shape = kept
    again = torch.nn.functional.gelu(node._saved_self, approximate=node._saved_approximate)
    return again.view(shape)
