"""No loss holds documents x labels x labels, or labels x labels, at once."""

import pytest
import torch
from loss_cases import build, draw_batch, draw_context

from losslab.losses import LOSSES, LabelStatistics

ROWS, LABELS = 4, 3000
BATCH_BYTES = ROWS * LABELS * 4
STATISTICS = LabelStatistics([1 + c % 40 for c in range(LABELS)], 1000, mu=0.3)
pytestmark = pytest.mark.filterwarnings("ignore:.*small for a loss over batches")


def peak_memory(step):
    """The most bytes a step holds at once, beyond what was there before it."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, profile_memory=True) as profile:
        step()
    events = profile.profiler.kineto_results.events()
    changes = [(event.start_ns(), event.nbytes()) for event in events if event.name() == "[memory]"]
    held = peak = 0
    for _, change in sorted(changes):
        held += change
        peak = max(peak, held)
    return peak


def step_of(loss, leave_out=()):
    logits, targets = draw_batch(ROWS, LABELS, torch.float32)
    context = draw_context(ROWS, LABELS, torch.float32)
    context = {key: value for key, value in context.items() if key not in leave_out}

    def step():
        loss(logits.requires_grad_(), targets, context).backward()

    return step


def test_the_measure_sees_all_pairs():
    def all_pairs(logits, targets, context):
        return (logits.unsqueeze(1) - logits.unsqueeze(2)).square().mean()

    assert peak_memory(step_of(all_pairs)) >= LABELS * BATCH_BYTES


@pytest.mark.parametrize("name", LOSSES)
def test_memory_grows_with_documents_times_labels(name):
    loss = build(name, {}, STATISTICS, groups=[c % 9 for c in range(LABELS)])
    drawing = step_of(loss, leave_out=("selected", "beta", "eta"))
    assert BATCH_BYTES <= peak_memory(drawing) < 40 * BATCH_BYTES


@pytest.mark.parametrize("pairs", [50, LABELS])
def test_sampled_pairs_take_no_more(pairs):
    assert peak_memory(step_of(build("lsep", {"pairs": pairs}))) < 40 * BATCH_BYTES
