"""What makes a fine-tuning step of MiniLM on a CPU quick: the same step without each of it, in turns.

    python benchmarks/step_time.py --max-length 256

Trains on documents of Reuters (``LOSSLAB_MIRROR``), batches of 32. Printed: seconds a step, and how
many times those of the step as it is.
"""

from argparse import ArgumentParser
from contextlib import nullcontext
from time import perf_counter
from unittest.mock import patch

import numpy as np
from torch import nn
from training_throughput import BATCH, Setting, make_loop, read_setting

from losslab.models import transformer
from losslab.models.dropout import Dropout

ROUNDS, STEPS = 3, 6
VARIANTS = {
    "as it is": (),
    "PyTorch's dropout": ("dropout",),
    "freed memory returned": ("memory",),
    "output of GELU kept": ("gelu",),
    "all three": ("dropout", "memory", "gelu"),
}


def time_steps(setting: Setting, without: tuple[str, ...]) -> float:
    dropout = nn.Dropout.forward if "dropout" in without else Dropout.forward
    gelu = nullcontext if "gelu" in without else transformer.gelu_recomputed
    with (
        patch.object(Dropout, "forward", dropout),
        patch.object(transformer, "gelu_recomputed", gelu),
    ):
        loop = make_loop(setting, np.arange(setting.targets.shape[0]))
        (batches,) = loop.parts()
        with nullcontext() if "memory" in without else loop.memory:
            loop.train_on(batches[:1], 0)  # the optimiser makes its state, the heap grows
            start = perf_counter()
            loop.train_on(batches[1 : STEPS + 1], 0)
            return (perf_counter() - start) / STEPS


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--max-length", type=int, default=256)
    chosen = parser.parse_args()
    setting = read_setting(BATCH * 20, chosen.max_length)
    times: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for _ in range(ROUNDS):
        for name, without in VARIANTS.items():
            times[name].append(time_steps(setting, without))
    best = {name: min(taken) for name, taken in times.items()}
    for name, taken in best.items():
        print(f"{name:22} {taken:6.2f} s a step   {taken / best['as it is']:.2f} times")


if __name__ == "__main__":
    main()
