"""Draws, counters and epochs: saved with the module, untouched in evaluation mode."""

import io

import pytest
import torch
from loss_cases import DRAWING, build, draw_batch, draw_context, identify

from losslab.losses import LOSSES, LabelStatistics, build_loss

every_loss = pytest.mark.parametrize("name", LOSSES)
STATEFUL = [
    *DRAWING,
    ("sad_f1", {"growth": 1.5}),
    ("splc", {"start_epoch": 3}),
    ("llr", {"rate": 0.1, "limit": 1.0}),
]
BESIDES = ("mask", "second_logits", "soft_targets")  # needed, and no draws
pytestmark = pytest.mark.filterwarnings("ignore:.*small for a loss over batches")


def make_steps(loss, first, last, epoch=None):
    """The values of some training steps; not every batch has a positive of every label."""
    values = []
    for step in range(first, last):
        logits, targets = draw_batch(rows=3, seed=step)
        context = {key: draw_context(rows=3)[key] for key in BESIDES}
        if epoch is not None:
            context["epoch"] = epoch
        values.append(loss(logits, targets, context).item())
    return values


def through_a_file(state):
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def build_seeded(name, options, seed):
    torch.manual_seed(seed)
    return build(name, options)


@pytest.mark.parametrize(("name", "options"), STATEFUL, ids=identify)
def test_a_loaded_loss_goes_on_where_the_saved_one_stood(name, options):
    saved = build_seeded(name, options, seed=1)
    make_steps(saved, 0, 3, epoch=4)
    state = through_a_file(saved.state_dict())
    loaded, fresh = (build_seeded(name, options, seed=2) for _ in range(2))
    loaded.load_state_dict(state)
    expected = make_steps(saved, 3, 20)
    assert make_steps(loaded, 3, 20) == expected
    assert make_steps(fresh, 3, 20) != expected


@pytest.mark.parametrize(("name", "options"), DRAWING, ids=identify)
def test_draws_differ_from_step_to_step_and_follow_the_seed(name, options):
    logits, targets = draw_batch(rows=3)
    targets[:, 0] = 0

    def values(seed):
        loss = build_seeded(name, options, seed)
        return [loss(logits, targets, {"mask": 1 - targets}).item() for _ in range(8)]

    assert len(set(values(seed=1))) > 1
    assert values(seed=1) == values(seed=1)
    assert values(seed=1) != values(seed=2)


@pytest.mark.parametrize("train", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize(
    ("name", "options"), [*((name, {}) for name in LOSSES), *DRAWING], ids=identify
)
def test_the_global_random_stream_is_left_alone(name, options, train):
    loss = build(name, options).train(train)
    before = torch.get_rng_state()
    make_steps(loss, 0, 2)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize(
    ("name", "options"), [*((name, {}) for name in LOSSES), *STATEFUL], ids=identify
)
def test_evaluation_draws_nothing_and_changes_no_state(name, options):
    loss = build(name, options)
    make_steps(loss, 0, 3, epoch=4)
    before = through_a_file(loss.state_dict())
    loss.eval()
    once, again = make_steps(loss, 3, 6, epoch=9), make_steps(loss, 3, 6, epoch=9)
    loss.scores(draw_batch()[0])
    assert once == again
    assert loss.state_dict().keys() == before.keys()
    for key, value in loss.state_dict().items():
        assert torch.equal(value, before[key]), key


@every_loss
def test_state_is_parameters_buffers_and_the_stream(name):
    drawing = {"lsep", "ce_tencent", "mask_label", "mask_element", "sbayes_f1"}
    extra = {
        "tlpr": {"move"},
        "sad_f1": {"epoch"},
        "splc": {"epoch"},
        "llr": {"epoch"},
        "ce_tencent": {"with_positive", "without"},
        "sbayes_f1": {"chain", "sums", "counts", "kept"},
    }.get(name, set())
    stream = {"_extra_state"} if name in drawing else set()
    assert set(build(name).state_dict()) == extra | stream


@every_loss
def test_only_tlpr_has_parameters(name):
    assert [key for key, _ in build(name).named_parameters()] == (
        ["move"] if name == "tlpr" else []
    )


@pytest.mark.parametrize("name", ["soft_f1", "db", "mask_label", "sigmoid_f1"])
def test_a_loss_trains_after_it_predicted_in_inference_mode(name):
    groups = {"groups": [0, 0, 1]} if name == "mask_label" else {}
    loss = build_loss(name, LabelStatistics([1, 2, 3], 9, mu=0.3), **groups)
    logits, targets = torch.zeros(2, 3), torch.ones(2, 3)
    with torch.inference_mode():
        loss.scores(logits)
        loss(logits, targets)
    leaf = logits.clone().requires_grad_()
    loss(leaf, targets).backward()
    assert leaf.grad.isfinite().all()


def test_sbayes_f1_averages_at_least_half_of_its_chain():
    loss = build_loss("sbayes_f1", LabelStatistics([1, 2, 3], 9))
    for step in range(1, 101):
        loss(torch.zeros(2, 3), torch.ones(2, 3))
        assert step / 2 <= int(loss.counts.sum()) <= 0.75 * step + 1
