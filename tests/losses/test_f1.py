import math
import warnings
from itertools import chain, pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from loss_cases import (
    STATISTICS,
    as_tensors,
    batches,
    build,
    draw_batch,
    sigmoid,
    value_and_gradient,
)

from losslab.losses import AnnealedF1Loss, SigmoidF1Loss, build_loss
from losslab.losses.f1 import soft_f1

FAMILY = ["soft_f1", "sigmoid_f1", "sad_f1", "sbayes_f1"]
quiet = pytest.mark.filterwarnings("ignore:.*small for a loss over batches")
SMALL = "a batch below 256 documents is small"


def f_score(decisions, carried, f_beta=1.0):
    pairs = list(zip(decisions, carried, strict=True))
    tp = sum(s * y for s, y in pairs)
    fp, fn = sum(s * (1 - y) for s, y in pairs), sum((1 - s) * y for s, y in pairs)
    square = f_beta**2
    return (1 + square) * tp / ((1 + square) * tp + square * fn + fp + 1e-16)


def columns(rows):
    return list(zip(*rows, strict=True))


def slow_f1(decisions, targets, average="macro", f_beta=1.0):
    if average == "micro":
        return 1 - f_score([*chain(*decisions)], [*chain(*targets)], f_beta)
    labels = list(zip(columns(decisions), columns(targets), strict=True))
    if average == "present":
        labels = [(s, y) for s, y in labels if any(y)]
    return 1 - sum(f_score(s, y, f_beta) for s, y in labels) / max(len(labels), 1)


def decide(logits, beta=1.0, eta=0.0):
    return [[sigmoid(beta * (z + eta)) for z in row] for row in logits]


@quiet
@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    batch=batches(),
    average=st.sampled_from(["macro", "present", "micro"]),
    f_beta=st.sampled_from([0.5, 1.0, 2.0]),
)
def test_soft_f1_is_its_equation(batch, average, f_beta):
    options = {"average": average, "f_beta": f_beta}
    value = build_loss("soft_f1", **options)(*as_tensors(batch))
    slow = slow_f1(decide(batch[0]), batch[1], **options)
    assert value.item() == pytest.approx(slow, rel=1e-7, abs=1e-7)


@quiet
@settings(deadline=None, derandomize=True, max_examples=40)
@given(batch=batches(), beta=st.floats(0.1, 12), eta=st.floats(-2, 2), twice=st.booleans())
def test_sigmoid_f1_is_its_equation(batch, beta, eta, twice):
    logits, targets = batch
    options = {"beta": beta, "eta": eta, "input": "probability" if twice else "logit"}
    value = build_loss("sigmoid_f1", **options)(*as_tensors(batch))
    slow = slow_f1(decide(decide(logits) if twice else logits, beta, eta), targets)
    assert value.item() == pytest.approx(slow, rel=1e-7, abs=1e-7)


@quiet
def test_sigmoid_f1_takes_a_number_per_label():
    logits, targets = draw_batch()
    betas, etas = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.5, 0.0, -0.5, 1.0, -1.0, 0.2]
    loss = build_loss("sigmoid_f1", beta=betas, eta=etas)
    decided = [
        [sigmoid(b * (z + e)) for z, b, e in zip(row, betas, etas, strict=True)]
        for row in logits.tolist()
    ]
    assert loss(logits, targets).item() == pytest.approx(slow_f1(decided, targets.tolist()))
    torch.testing.assert_close(loss.scores(logits), torch.tensor(decided, dtype=torch.float64))


@quiet
@pytest.mark.parametrize("average", ["macro", "present", "micro"])
def test_sigmoid_f1_of_plain_logits_is_soft_f1(average):
    batch = draw_batch()
    torch.testing.assert_close(
        value_and_gradient(build_loss("sigmoid_f1", beta=1.0, average=average), *batch),
        value_and_gradient(build_loss("soft_f1", average=average), *batch),
    )


@quiet
def test_sigmoid_f1_at_its_defaults_is_not_soft_f1():
    batch = draw_batch()
    assert build_loss("sigmoid_f1")(*batch) != build_loss("soft_f1")(*batch)
    assert SigmoidF1Loss.defaults()["beta"] == 2.0
    assert AnnealedF1Loss.defaults()["beta"] == 1.0


@quiet
def test_sbayes_f1_at_beta_one_and_eta_zero_is_soft_f1():
    batch = draw_batch()
    context = {"beta": torch.ones(5), "eta": torch.zeros(5)}
    torch.testing.assert_close(
        value_and_gradient(build("sbayes_f1"), *batch, context),
        value_and_gradient(build_loss("soft_f1"), *batch),
    )


@quiet
def test_sbayes_f1_takes_draws_per_document():
    logits, targets = draw_batch()
    beta, eta = [0.5, 1.0, 2.0, 3.0, 4.0], [-1.0, 0.0, 1.0, 0.5, -0.5]
    decided = [
        [sigmoid(b * (z + e)) for z in row]
        for row, b, e in zip(logits.tolist(), beta, eta, strict=True)
    ]
    loss = build("sbayes_f1")
    value = loss(logits, targets, {"beta": beta, "eta": eta})
    assert value.item() == pytest.approx(slow_f1(decided, targets.tolist()))
    assert not loss.chain.any()


@quiet
def test_sbayes_f1_makes_langevin_steps():
    logits, targets = draw_batch(rows=20, dtype=torch.float32)
    torch.manual_seed(5)
    loss, generator = build("sbayes_f1", {"step_size": 0.05}), torch.Generator().manual_seed(5)
    place = torch.zeros(2, 6)
    for _ in range(4):
        value = loss(logits, targets)
        place.requires_grad_()
        decisions = torch.sigmoid(place[0].exp() * (logits + place[1]))
        fit = soft_f1(decisions, targets)
        torch.testing.assert_close(value, fit)
        (slope,) = torch.autograd.grad(6 * fit + place.square().sum() / 2, place)
        noise = torch.randn(2, 6, generator=generator)
        place = place.detach() - 0.05 * slope + math.sqrt(2 * 0.05) * noise
        torch.testing.assert_close(loss.chain, place)


@quiet
def test_sbayes_f1_left_alone_samples_its_prior():
    torch.manual_seed(0)
    loss = build("sbayes_f1", {"step_size": 0.1})
    logits, targets = torch.zeros(1, 6), torch.zeros(1, 6)  # no positive: the value is constant
    places = []
    for _ in range(1500):
        loss(logits, targets)
        places.append(loss.chain.clone())
    walked = torch.stack(places[100:])
    assert walked.mean().abs() < 0.15
    assert walked.std().item() == pytest.approx(1.0, abs=0.15)


@quiet
def test_sbayes_f1_predicts_by_the_mean_of_late_places():
    torch.manual_seed(0)
    loss, places = build("sbayes_f1", {"step_size": 0.1}), []
    for step in range(37):
        loss(*draw_batch(dtype=torch.float32, seed=step))
        places.append(loss.chain.clone())
    kept = int(loss.counts.sum())
    log_beta, eta = torch.stack(places[-kept:]).mean(dim=0)
    logits, _ = draw_batch(dtype=torch.float32)
    expected = torch.sigmoid(log_beta.exp() * (logits + eta))
    torch.testing.assert_close(loss.eval().scores(logits), expected)


@quiet
@pytest.mark.parametrize("steps", [1, 2, 5, 37, 200, 700])
def test_sbayes_f1_keeps_states_of_the_later_half_of_its_chain(steps):
    torch.manual_seed(0)
    loss, places = build("sbayes_f1", {"step_size": 0.1}), []
    for step in range(steps):
        loss(*draw_batch(dtype=torch.float32, seed=step % 7))
        places.append(loss.chain.clone())
    kept = loss.posterior()
    states = torch.stack([kept["beta"].log(), kept["eta"]], dim=1)
    later = torch.stack(places[-int(loss.counts.sum()) :])
    at = [int((later - state).abs().sum(dim=(1, 2)).argmin()) for state in states]
    torch.testing.assert_close(later[at], states)
    assert at == sorted(set(at))
    assert len(at) >= min(len(later), 64)
    gaps = [b - a for a, b in pairwise([-1, *at, len(later)])]
    assert max(gaps) <= max(1, len(later) // 16)


@quiet
def test_sbayes_f1_drawing_by_batch_takes_the_newest_state_and_by_document_any_kept_one():
    torch.manual_seed(0)
    logits, targets = draw_batch(rows=400, dtype=torch.float32)
    by_document, by_batch = (
        build("sbayes_f1", {"draw_per": per, "step_size": 0.1}) for per in ("document", "batch")
    )
    for loss in (by_document, by_batch):
        for step in range(50):
            loss(*draw_batch(dtype=torch.float32, seed=step))
    newest, kept = by_document.chain.clone(), by_document.posterior()
    seen = []
    by_document.decisions = lambda z, context: seen.append(context) or torch.sigmoid(z)
    by_document(logits, targets)
    for name, draws in kept.items():
        assert seen[0][name].shape == (400, 6)
        drawn = torch.unique(seen[0][name], dim=0)
        assert len(drawn) == len(draws)
        assert {tuple(row) for row in drawn.tolist()} == {tuple(row) for row in draws.tolist()}
    assert not torch.equal(newest, by_document.chain)
    state = by_batch.chain.clone()
    value = by_batch(logits, targets)
    decisions = torch.sigmoid(state[0].exp() * (logits + state[1]))
    torch.testing.assert_close(value, soft_f1(decisions, targets))


@quiet
def test_sbayes_f1_predicts_alike_whatever_it_draws_per():
    logits, _ = draw_batch(dtype=torch.float32)
    by_document, by_batch = (build("sbayes_f1", {"draw_per": per}) for per in ("document", "batch"))
    for step in range(9):
        by_document(*draw_batch(dtype=torch.float32, seed=step))
    by_batch.load_state_dict(by_document.state_dict())
    scores = by_document.eval().scores(logits)
    assert torch.equal(scores, by_document.scores(logits))
    assert torch.equal(scores, by_batch.eval().scores(logits))


@quiet
@pytest.mark.parametrize(("epoch", "beta"), [(0, 1.0), (1, 1.2), (5, 1.2**5), (13, 10), (500, 10)])
def test_sad_f1_steepens_by_the_epoch_up_to_its_limit(epoch, beta):
    logits, targets = draw_batch()
    loss, fixed = build_loss("sad_f1"), build_loss("sigmoid_f1", beta=beta)
    value = loss(logits, targets, {"epoch": epoch})
    torch.testing.assert_close(value, fixed(logits, targets))
    loss.eval()
    torch.testing.assert_close(loss.scores(logits), fixed.scores(logits))
    torch.testing.assert_close(loss(logits, targets, {"epoch": 2}), fixed(logits, targets))


@quiet
@pytest.mark.parametrize("name", FAMILY)
def test_a_label_without_positives_gets_no_gradient(name):
    logits, targets = draw_batch()
    targets[:, 2], targets[:, 3] = 0, 1
    _, gradient = value_and_gradient(build(name), logits, targets)
    assert not gradient[:, 2].any()
    assert gradient[:, 3].all()


@quiet
@pytest.mark.parametrize("name", FAMILY)
def test_soft_targets_are_counted_as_they_are(name):
    logits, _ = draw_batch()
    soft = torch.rand(5, 6, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    beta = 2.0 if name == "sigmoid_f1" else 1.0
    expected = slow_f1(decide(logits.tolist(), beta), soft.tolist())
    assert build(name)(logits, soft).item() == pytest.approx(expected)


@quiet
def test_labels_absent_from_the_batch_weigh_only_in_macro():
    logits, targets = torch.full((2, 4), 99.0), torch.tensor([[1, 1, 0, 0], [1, 1, 0, 0]])
    values = {
        average: build_loss("soft_f1", average=average)(logits, targets).item()
        for average in ("macro", "present", "micro")
    }
    assert values == pytest.approx({"macro": 0.5, "present": 0.0, "micro": 1 - 8 / 12})


@pytest.mark.parametrize("name", FAMILY)
def test_small_training_batches_are_warned_of_once(name):
    loss, batch = build(name), draw_batch()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("default")
        for _ in range(3):
            loss(*batch)
    assert [str(warning.message).partition(":")[0] for warning in heard] == [name]
    assert SMALL in str(heard[0].message)


@pytest.mark.parametrize(("rows", "train"), [(256, True), (5, False)])
@pytest.mark.parametrize("name", FAMILY)
def test_large_batches_and_evaluation_pass_without_warning(name, rows, train):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build(name).train(train)(*draw_batch(rows=rows))


@quiet
def test_function_is_the_module():
    logits, targets = draw_batch()
    value = soft_f1(torch.sigmoid(logits), targets)
    assert value == build_loss("soft_f1", STATISTICS)(logits, targets)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("soft_f1", {}),
        ("sigmoid_f1", {"beta": 3.0, "eta": -1.0}),
        ("sigmoid_f1", {"beta": 10.0, "eta": -0.5, "input": "probability"}),
        ("sad_f1", {"beta": 2.0}),
    ],
)
def test_divergence_is_the_symmetric_kl_of_the_decisions(name, options):
    loss = build_loss(name, **options)
    first, second = (draw_batch(seed=seed)[0] / 3 for seed in (0, 3))
    s, r = loss.scores(first), loss.scores(second)
    both_ways = (s - r) * (torch.logit(s) - torch.logit(r))
    torch.testing.assert_close(loss.divergence(first, second), both_ways.mean(dim=1))
