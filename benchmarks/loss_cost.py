"""Time and peak memory of every loss, forward and backward, as ratios to BCE in the same run.

``python benchmarks/loss_cost.py [--markdown]``. One thread, float32, 32 documents with 12 positives
each; the best of 20 interleaved runs; memory beyond the inputs, from the profiler's record of
allocations. ``zlpr_rdrop`` is compared with BCE over both of its passes.
"""

import argparse
import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812

from losslab.losses import LOSSES, LabelStatistics, build_loss

DOCUMENTS, POSITIVES, ROUNDS = 32, 12, 20
SIZES = (90, 618, 18211)
TIME_LIMIT = {"ranking": 12.0, "warp": 12.0, "zlpr_rdrop": 8.0}
MEMORY_LIMIT = 6.0


def make_batch(labels: int) -> tuple[torch.Tensor, torch.Tensor, dict[str, Any]]:
    """Logits, targets and a context that serves every loss."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(DOCUMENTS, labels, generator=generator)
    chosen = torch.rand(DOCUMENTS, labels, generator=generator).topk(POSITIVES).indices
    targets = torch.zeros(DOCUMENTS, labels).scatter_(1, chosen, 1.0)
    context = {
        "mask": torch.rand(DOCUMENTS, labels, generator=generator) < 0.05,
        "soft_targets": torch.softmax(torch.randn(DOCUMENTS, labels, generator=generator), dim=1),
        "second_logits": torch.randn(DOCUMENTS, labels, generator=generator).requires_grad_(),
        "epoch": 3,
        "lam": 0,
    }
    return logits, targets, context


def make_steps(labels: int) -> dict[str, Callable[[], None]]:
    """A forward and backward pass of each loss, and of fused BCE, on one batch."""
    logits, targets, context = make_batch(labels)
    statistics = LabelStatistics([1 + c % 40 for c in range(labels)], 1000, mu=0.3)

    def step(loss: Callable[..., torch.Tensor], *inputs: Any) -> Callable[[], None]:
        def run() -> None:
            leaf = logits.detach().requires_grad_()
            context["second_logits"].grad = None
            loss(leaf, targets, *inputs).backward()

        return run

    steps = {"bce, fused": step(F.binary_cross_entropy_with_logits)}
    for name, loss in LOSSES.items():
        groups = {"groups": [c % 9 for c in range(labels)]} if "groups" in loss.needs else {}
        steps[name] = step(build_loss(name, statistics, **groups), context)
    if labels == 618:
        steps |= {
            "ranking, all pairs": step(all_pairs(False)),
            "warp, all pairs": step(all_pairs(True)),
        }
    return steps


def all_pairs(ranked: bool) -> Callable[..., torch.Tensor]:
    """The plain way of writing RL and WARP: documents x labels x labels."""

    def loss(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        gaps = (1 + logits.unsqueeze(1) - logits.unsqueeze(2)).clamp_min(0)
        pairs = targets.unsqueeze(2) * (1 - targets).unsqueeze(1)
        if ranked:
            higher = logits.detach().unsqueeze(1) > logits.detach().unsqueeze(2)
            pairs = pairs * (1 + higher.sum(dim=2)).unsqueeze(2)
        return (gaps * pairs).sum() / len(logits)

    return loss


def peak_memory(step: Callable[[], None]) -> int:
    """The most bytes a step holds at once beyond what was there before it."""
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
    ) as profile:
        step()
    events = profile.profiler.kineto_results.events()
    changes = [(event.start_ns(), event.nbytes()) for event in events if event.name() == "[memory]"]
    held = peak = 0
    for _, change in sorted(changes):
        held += change
        peak = max(peak, held)
    return peak


def measure(labels: int) -> dict[str, tuple[float, float]]:
    """Time and memory of each loss over those of fused BCE."""
    steps = make_steps(labels)
    times = dict.fromkeys(steps, float("inf"))
    for _ in range(ROUNDS):
        for name, step in steps.items():
            start = perf_counter()
            step()
            times[name] = min(times[name], perf_counter() - start)
    memory = {name: peak_memory(step) for name, step in steps.items()}
    passes = {"zlpr_rdrop": 2}
    return {
        name: (
            times[name] / times["bce, fused"] / passes.get(name, 1),
            memory[name] / memory["bce, fused"] / passes.get(name, 1),
        )
        for name in steps
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--markdown", action="store_true", help="print a table for the docs")
    markdown = parser.parse_args().markdown
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    ratios = {labels: measure(labels) for labels in SIZES}
    edge = "| " if markdown else ""
    head = ["loss", *(f"{kind}, C={labels}" for labels in SIZES for kind in ("time", "memory"))]
    print(edge + " | ".join(f"{cell:>18}" for cell in head) + (" |" if markdown else ""))
    if markdown:
        print("|" + "---|" * len(head))
    for name in ratios[618]:
        cells = [
            f"{x:.1f}" for labels in SIZES for x in ratios[labels].get(name, (float("nan"),) * 2)
        ]
        print(edge + " | ".join(f"{c:>18}" for c in [name, *cells]) + (" |" if markdown else ""))
    for name in LOSSES:
        time, memory = ratios[18211][name]
        if time > TIME_LIMIT.get(name, 5.0) or memory > MEMORY_LIMIT:
            print(f"over the limit: {name} {time:.1f}x time, {memory:.1f}x memory")


if __name__ == "__main__":
    main()
