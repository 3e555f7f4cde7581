"""Dropout that costs a CPU a fraction of PyTorch's."""

from typing import Any

import torch
from torch import Tensor, nn

LEVELS = 2**16  # a draw is a number of 16 bits
MOST_THREADS = 8  # PyTorch's draws are slower, but shared by all threads


class Dropout(nn.Dropout):
    """Sets each value to 0 with probability ``p`` in training, and scales up the others.

    Four values share a draw of 64 bits, which is quicker on few threads
    (``benchmarks/step_time.py``). ``p`` is met to 1/65,536. The draws come from PyTorch's generator:
    its seed decides, and checkpointed passes draw the same again.

    >>> dropout = Dropout(0.25)
    >>> sorted(set(dropout(torch.ones(1000)).tolist()))
    [0.0, 1.3333333730697632]
    """

    def forward(self, values: Tensor) -> Tensor:
        """``values`` with some set to 0; PyTorch's own way on a GPU, compiled, on many threads."""
        if not self.training or not 0 < self.p < 1 or _better_elsewhere(values):
            return super().forward(values)
        level = min(round(self.p * LEVELS), LEVELS - 1)
        kept = _draw(values) >= level - LEVELS // 2
        made: Tensor = _Keep.apply(values, kept, LEVELS / (LEVELS - level))
        return made


def _better_elsewhere(values: Tensor) -> bool:
    many = torch.get_num_threads() > MOST_THREADS
    return values.device.type != "cpu" or many or torch.compiler.is_compiling()


def _draw(values: Tensor) -> Tensor:
    """A number from -32,768 to 32,767 for each value."""
    words = torch.empty(-(-values.numel() // 4), dtype=torch.int64, device=values.device)
    words.random_(torch.iinfo(torch.int64).min, None)
    return words.view(torch.int16)[: values.numel()].view(values.shape)


class _Keep(torch.autograd.Function):
    """Scales what is kept and sets the rest to 0; remembers a byte per value, not a float."""

    @staticmethod
    def forward(values: Tensor, kept: Tensor, scale: float) -> Tensor:
        return values * kept.to(values.dtype).mul_(scale)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, float], output: Tensor) -> None:
        ctx.save_for_backward(inputs[1])
        ctx.scale = inputs[2]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (kept,) = ctx.saved_tensors
        return gradient * kept.to(gradient.dtype).mul_(ctx.scale), None, None


def quicken_dropout(module: nn.Module) -> None:
    """Let every ``nn.Dropout`` within ``module`` draw this way."""
    for name, part in module.named_children():
        if type(part) is nn.Dropout:
            setattr(module, name, Dropout(part.p).train(part.training))
        else:
            quicken_dropout(part)
