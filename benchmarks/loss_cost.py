"""Time and peak memory of every loss, forward and backward, as ratios to BCE in the same run.

``python benchmarks/loss_cost.py [--markdown]``. One thread, float32, 32 documents with 12 positives
each; the CPU time, which other work on the machine hardly changes, of the best of 20 interleaved
runs; memory beyond the inputs, from the profiler's record of allocations. ``zlpr_rdrop`` is compared
with BCE over both of its passes. ``--losses=bce,focal`` prints the rows of these losses alone, for the
table of docs/losses.md.

``--gradients`` compares the losses whose gradient is written down with the same equation left to
autograd: how many times longer that takes.
"""

import argparse
import sys
import warnings
from collections.abc import Callable, Collection, Iterable
from functools import partial
from time import process_time
from typing import Any

import torch
from torch.nn import functional as F  # noqa: N812

from losslab.losses import LOSSES, LabelStatistics, build_loss
from losslab.losses.asymmetric import asymmetric
from losslab.losses.cross_entropy import pointwise
from losslab.losses.pairs import hinge_pairs, pair_logsumexp
from losslab.losses.zlpr import threshold_ranking

DOCUMENTS, POSITIVES, ROUNDS = 32, 12, 20
SIZES = (90, 618, 18211)
TIME_LIMIT = {"ranking": 12.0, "warp": 12.0, "zlpr_rdrop": 8.0, "two_way": 8.0}
MEMORY_LIMIT = 6.0
GRADIENT_SIZES = (100, 1000, 5000, 20000)
Step = Callable[[], None]
Ratios = dict[int, dict[str, tuple[float, float]]]
Function = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


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


def make_step(loss: Callable[..., torch.Tensor], logits: torch.Tensor, *inputs: Any) -> Step:
    """A forward and backward pass; ``inputs`` are targets and context."""
    context = inputs[1] if len(inputs) > 1 else {}

    def run() -> None:
        leaf = logits.detach().requires_grad_()
        if "second_logits" in context:
            context["second_logits"].grad = None
        loss(leaf, *inputs).backward()

    return run


def best_times(steps: dict[Any, Step], rounds: int = ROUNDS) -> dict[Any, float]:
    """The shortest time of each step over interleaved runs."""
    times = dict.fromkeys(steps, float("inf"))
    for _ in range(rounds):
        for name, step in steps.items():
            start = process_time()
            step()
            times[name] = min(times[name], process_time() - start)
    return times


def make_steps(labels: int, names: Collection[str]) -> dict[str, Step]:
    """A forward and backward pass of each named loss, and of fused BCE, on one batch."""
    logits, targets, context = make_batch(labels)
    statistics = LabelStatistics([1 + c % 40 for c in range(labels)], 1000, mu=0.3)

    def step(loss: Callable[..., torch.Tensor], *inputs: Any) -> Step:
        return make_step(loss, logits, targets, *inputs)

    steps = {"bce, fused": step(F.binary_cross_entropy_with_logits)}
    for name in names:
        needs_groups = "groups" in LOSSES[name].needs
        groups = {"groups": [c % 9 for c in range(labels)]} if needs_groups else {}
        steps[name] = step(build_loss(name, statistics, **groups), context)
    if labels == 618:
        pairwise = {"ranking": all_pairs(False), "warp": all_pairs(True)}
        steps |= {f"{name}, all pairs": step(pairwise[name]) for name in names if name in pairwise}
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


def plain_pointwise(
    logits: torch.Tensor,
    targets: torch.Tensor,
    *,
    gamma: float = 0.0,
    weight: torch.Tensor | float = 1.0,
    bias: torch.Tensor | float = 0.0,
    negative_scale: float = 1.0,
) -> torch.Tensor:
    """The equation of the pointwise and balanced losses."""
    positive, shifted = targets > 0, logits - bias
    wrongness = torch.where(positive, -shifted, negative_scale * shifted)
    entries = weight * F.softplus(wrongness)
    if gamma:
        entries = torch.sigmoid(wrongness) ** gamma * entries
    return torch.where(positive, entries, entries / negative_scale).mean()


def plain_asymmetric(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The equation of the asymmetric loss at its defaults."""
    clipped = (torch.sigmoid(logits) - 0.05).clamp_min(0)
    negatives = clipped.square().square() * -torch.log1p(-clipped)
    return torch.where(targets > 0, F.softplus(-logits), negatives).mean()


def plain_sums(logits: torch.Tensor, targets: torch.Tensor, *, anchor: bool) -> torch.Tensor:
    """The equation of ZLPR (with an anchor at zero) and BP-MLL (without)."""
    below = (-logits).masked_fill(targets == 0, -torch.inf)
    above = logits.masked_fill(targets > 0, -torch.inf)
    if anchor:
        below, above = (F.pad(part, (1, 0)) for part in (below, above))
    return (torch.logsumexp(below, dim=1) + torch.logsumexp(above, dim=1)).mean()


def compare_gradients(labels: int) -> dict[str, float]:
    """The time of the plain equation under autograd over that of the written gradient, by loss."""
    logits, targets, _ = make_batch(labels)
    weight, bias = torch.rand(DOCUMENTS, labels), torch.randn(labels)
    options: dict[str, dict[str, Any]] = {
        "focal": {"gamma": 2.0},
        "cb": {"gamma": 2.0, "weight": weight[0]},
        "db_0fl": {"weight": weight, "bias": bias, "negative_scale": 2.0},
        "db": {"gamma": 2.0, "weight": weight, "bias": bias, "negative_scale": 2.0},
        "mask_label": {"weight": weight},
    }
    pairs: dict[str, tuple[Function, Function]] = {
        name: (partial(pointwise, **given), partial(plain_pointwise, **given))
        for name, given in options.items()
    }
    pairs["asl"] = partial(asymmetric, gamma_pos=0.0, gamma_neg=4.0, clip=0.05), plain_asymmetric
    pairs["bpmll"] = lambda z, y: pair_logsumexp(z, y)[0].mean(), partial(plain_sums, anchor=False)
    pairs["zlpr"] = lambda z, y: threshold_ranking(z, y).mean(), partial(plain_sums, anchor=True)
    if labels <= 1000:
        for name, ranked in (("ranking", False), ("warp", True)):
            pairs[name] = partial(hinge_pairs, margin=1.0, ranked=ranked), all_pairs(ranked)
    steps = {
        (name, way): make_step(function, logits, targets)
        for name, ways in pairs.items()
        for way, function in zip(("written", "recorded"), ways, strict=True)
    }
    times = best_times(steps, rounds=3 * ROUNDS)
    return {name: times[name, "recorded"] / times[name, "written"] for name in pairs}


def peak_memory(step: Step) -> int:
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


def measure(labels: int, names: Collection[str]) -> dict[str, tuple[float, float]]:
    """Time and memory of each named loss over those of fused BCE."""
    steps = make_steps(labels, names)
    times = best_times(steps)
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
    parser.add_argument("--gradients", action="store_true", help="compare with autograd")
    parser.add_argument("--losses", help="print the rows of these alone, for the docs: bce,focal")
    arguments = parser.parse_args()
    names = arguments.losses.split(",") if arguments.losses else list(LOSSES)
    if unknown := [name for name in names if name not in LOSSES]:
        parser.error(f"unknown loss {unknown[0]!r}; known: {', '.join(LOSSES)}")
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    if arguments.gradients:
        for labels in GRADIENT_SIZES:
            ratios = compare_gradients(labels)
            print(f"C={labels}:", ", ".join(f"{name} {x:.2f}" for name, x in ratios.items()))
        return
    ratios = {labels: measure(labels, names) for labels in SIZES}
    if arguments.losses:
        print_rows(ratios, names, markdown=True)
    else:
        print_head(arguments.markdown)
        print_rows(ratios, ratios[618], markdown=arguments.markdown)
    tell_limits(ratios, names)


def print_head(markdown: bool) -> None:
    """The head of the table."""
    head = ["loss", *(f"{kind}, C={labels}" for labels in SIZES for kind in ("time", "memory"))]
    print_row(head, markdown)
    if markdown:
        print("|" + "---|" * len(head))


def print_rows(ratios: Ratios, names: Iterable[str], *, markdown: bool) -> None:
    """A row per loss; ``-`` where it was not measured."""
    for name in names:
        measured = [ratios[labels].get(name) for labels in SIZES]
        cells = [f"{x:.1f}" if pair else "-" for pair in measured for x in pair or (0.0, 0.0)]
        print_row([name, *cells], markdown)


def print_row(cells: list[str], markdown: bool) -> None:
    print(f"| {' | '.join(cells)} |" if markdown else " | ".join(f"{cell:>18}" for cell in cells))


def tell_limits(ratios: Ratios, names: Iterable[str]) -> None:
    """Losses over their limit, on standard error."""
    for name in names:
        time, memory = ratios[18211][name]
        if time > TIME_LIMIT.get(name, 5.0) or memory > MEMORY_LIMIT:
            told = f"over the limit: {name} {time:.1f}x time, {memory:.1f}x memory"
            print(told, file=sys.stderr)


if __name__ == "__main__":
    main()
