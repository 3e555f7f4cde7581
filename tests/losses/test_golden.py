"""Values and gradients that others computed, from the papers' equations and the authors' code."""

import json
from pathlib import Path

import pytest
import torch

from losslab.losses import LabelStatistics, build_loss, zlpr

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "losses.json").read_text())
precisions = pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-9), (torch.float32, 1e-5)], ids=["f64", "f32"]
)
pytestmark = pytest.mark.filterwarnings("ignore:.*small for a loss over batches")


def by_key(entry):
    return f"{entry['key']}-{entry['loss']}" if "loss" in entry else entry["key"]


def check(value, gradient, expected, tolerance, scale=1):
    found = {"value": scale * value.detach(), "gradient": scale * gradient}
    for name, figure in found.items():
        wanted = torch.tensor(expected[name], dtype=value.dtype)
        relative = tolerance if value.dtype == torch.float32 else 0
        torch.testing.assert_close(figure, wanted, rtol=relative, atol=tolerance)


def read_input(name, dtype):
    batch = dict(GOLDEN["inputs"][name])
    context = {
        key: torch.tensor(batch[key], dtype=dtype)
        for key in ("mask", "soft_targets", "second_logits", "beta", "eta")
        if key in batch
    }
    return batch, context, torch.tensor(batch["logits"], dtype=dtype, requires_grad=True)


@precisions
@pytest.mark.parametrize("entry", GOLDEN["entries"], ids=by_key)
def test_loss_and_gradient_are_the_golden_ones(entry, dtype, tolerance):
    batch, context, logits = read_input(entry["input"], dtype)
    groups = {"groups": batch["groups"]} if entry["loss"] == "mask_label" else {}
    statistics = (
        LabelStatistics(batch["frequencies"], batch["documents"])
        if "frequencies" in batch
        else None
    )
    loss = build_loss(entry["loss"], statistics, **groups, **entry["options"])
    targets = torch.tensor(batch[entry.get("targets", "targets")], dtype=dtype)
    value = loss(logits, targets, context | entry.get("context", {}))
    value.backward()
    assert value.dtype == dtype
    check(value, logits.grad, entry, tolerance, entry.get("scale", 1))
    if "gradient_s0" in entry:
        assert loss.move.grad.item() == pytest.approx(entry["gradient_s0"], abs=1e-6)


@precisions
@pytest.mark.parametrize("entry", GOLDEN["functions"], ids=by_key)
def test_divergences_are_the_golden_ones(entry, dtype, tolerance):
    _, context, logits = read_input(entry["input"], dtype)
    value = getattr(zlpr, entry["function"])(logits, context["second_logits"]).mean()
    value.backward()
    check(value, logits.grad, entry, tolerance)


@precisions
@pytest.mark.parametrize("sequence", GOLDEN["sequences"], ids=by_key)
def test_ce_tencent_counts_from_batch_to_batch_as_the_golden_sequence(sequence, dtype, tolerance):
    loss = build_loss("ce_tencent", LabelStatistics([1] * 6, 10))
    for batch in sequence["batches"]:
        logits = torch.tensor(batch["logits"], dtype=dtype, requires_grad=True)
        selected = torch.tensor(batch["selected"])
        value = loss(logits, torch.tensor(batch["targets"]), {"selected": selected})
        value.backward()
        check(value, logits.grad, batch, tolerance)
        assert loss.with_positive.tolist() == batch["with_positive"]
        assert loss.without.tolist() == batch["without"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("row", [0, 1, 2])
@pytest.mark.parametrize(
    ("key", "name", "options", "scale"),
    [
        ("bce_sum", "bce", {}, 6),
        ("zlpr", "zlpr", {}, 1),
        ("bpmll_log", "bpmll", {}, 1),
        ("lsep", "lsep", {}, 1),
        ("tlpr_s0=0.7", "tlpr", {"s0": 0.7}, 1),
    ],
)
def test_logits_of_a_thousand_have_the_golden_value(key, name, options, scale, row, dtype):
    extreme = GOLDEN["extreme"]
    logits = torch.tensor(extreme["logits"][row : row + 1], dtype=dtype, requires_grad=True)
    value = build_loss(name, **options)(logits, torch.tensor(extreme["targets"][row : row + 1]))
    value.backward()
    assert scale * value.item() == pytest.approx(extreme["per_sample"][key][row], rel=1e-6)
    assert logits.grad.isfinite().all()
