import copy
from inspect import Parameter, signature

import pytest
import torch
from loss_cases import build, draw_batch, draw_context, pick_rows

from losslab import losses
from losslab.losses import LOSSES, LabelStatistics

STATISTICS = LabelStatistics([9, 3, 1, 1, 2, 5], 10, mu=0.4)
pytestmark = pytest.mark.filterwarnings("ignore:.*small for a loss over batches")
every_loss = pytest.mark.parametrize("name", LOSSES)


@every_loss
def test_class_is_exported(name):
    loss = LOSSES[name]
    advice = f"{name}: import {loss.__name__} in losses/__init__.py and list it in __all__"
    assert getattr(losses, loss.__name__, None) is loss, advice
    assert loss.__name__ in losses.__all__, advice


def test_every_name_has_a_class_of_its_own():
    assert len(set(LOSSES.values())) == len(LOSSES)


@every_loss
def test_class_states_its_facts(name):
    loss = LOSSES[name]
    unstated = [
        fact for fact in ("title", "paper", "choose_when", "formula") if not getattr(loss, fact)
    ]
    assert not unstated, f"{name}: state {', '.join(unstated)} in {loss.__name__}"
    prose = " ".join((vars(loss)["__doc__"] or "").split())
    missing = [part for part in ("choose it", "Shapes: ", ">>> ") if part not in prose]
    assert not missing, f"{name}: the docstring of {loss.__name__} lacks {missing}"


@every_loss
def test_defaults_say_where_they_come_from(name):
    unfounded = [option.name for option in LOSSES[name].options().values() if not option.source]
    assert not unfounded, f"{name}: give Option(...) of {', '.join(unfounded)} a source"


@every_loss
def test_signature_shows_what_the_loss_takes(name):
    shown = signature(LOSSES[name]).parameters
    options = LOSSES[name].options()
    built_with = [need for need in LOSSES[name].needs if need in ("statistics", "groups", "task")]
    assert list(shown) == [*built_with, *options], (
        f"{name}: its constructor must take {built_with}, of needs, and then its hyperparameters"
    )
    assert {key: shown[key].default for key in options} == LOSSES[name].defaults()
    for key in options:
        assert shown[key].kind is Parameter.KEYWORD_ONLY, f"{name}: put * before {key}"


@every_loss
def test_class_can_be_used_without_the_table(name):
    needed = {"statistics": STATISTICS, "groups": [0, 0, 1, 1, 1, 2]}
    loss = LOSSES[name](**{key: needed[key] for key in LOSSES[name].needs if key in needed})
    batch = draw_batch(), draw_context()
    assert loss(*batch[0], batch[1]) == build(name, {}, STATISTICS)(*batch[0], batch[1])


@pytest.mark.parametrize("name", [n for n, loss in LOSSES.items() if loss.options()])
def test_class_checks_its_hyperparameters_itself(name):
    option = next(iter(LOSSES[name].options()))
    needed = {"statistics": STATISTICS, "groups": [0, 0, 1, 1, 1, 2]}
    with pytest.raises(ValueError, match=f"^{name}: {option} must be .*, got 'wrong'"):
        LOSSES[name](
            **{key: needed[key] for key in LOSSES[name].needs if key in needed}, **{option: "wrong"}
        )


@every_loss
def test_loss_can_be_copied(name):
    loss = build(name)
    batch = *draw_batch(), draw_context()
    assert copy.deepcopy(loss.eval())(*batch) == loss(*batch)


@every_loss
def test_loss_builds_from_its_defaults(name):
    value = build(name, {}, STATISTICS)(torch.zeros(5, 6), draw_batch()[1], draw_context())
    assert value.ndim == 0
    assert value > 0


@every_loss
def test_statistics_are_needed_where_the_row_says_so(name):
    if "statistics" in LOSSES[name].needs:
        with pytest.raises(ValueError, match=f"{name} needs the label statistics"):
            build(name, {}, None)
    else:
        batch = torch.zeros(5, 6), draw_batch()[1], draw_context()
        assert build(name, {}, None)(*batch) == build(name, {}, STATISTICS)(*batch)


@every_loss
def test_scores_are_probabilities_where_the_row_says_so(name):
    logits, _ = draw_batch()
    scores = build(name).scores(logits)
    assert scores.shape == logits.shape
    within = bool(scores.min() >= 0 and scores.max() <= 1)
    decision = "probability" if within else "score"
    assert LOSSES[name].decision == decision, f'{name}: state decision = "{decision}"'


@every_loss
def test_posterior_has_draws_of_what_is_sampled_for_each_label(name):
    loss = build(name)
    loss(
        *draw_batch(),
        {key: draw_context()[key] for key in ("mask", "second_logits", "soft_targets")},
    )
    draws = loss.posterior()
    assert set(draws) == set(LOSSES[name].sampled)
    assert all(values.ndim == 2 and values.shape[1] == 6 for values in draws.values())


@every_loss
def test_losses_that_are_no_mean_over_documents_are_batchwise(name):
    """Pairs of the same two label sets: what a loss counts of a batch's labels is the same for each."""
    logits, targets = draw_batch(rows=6)
    targets = torch.stack([targets[0], 1 - targets[0]]).repeat(3, 1)
    context, loss = draw_context(rows=6), build(name).eval()
    pairs = [slice(i, i + 2) for i in (0, 2, 4)]
    each = [loss(logits[pair], targets[pair], pick_rows(context, pair)) for pair in pairs]
    batchwise = not torch.allclose(loss(logits, targets, context), torch.stack(each).mean())
    assert LOSSES[name].batchwise == batchwise, f"{name}: state batchwise = {batchwise}"
