import copy
from inspect import Parameter, signature

import pytest
import torch
from loss_cases import build, draw_batch, draw_context

from losslab import losses
from losslab.losses import LOSSES, LabelStatistics

STATISTICS = LabelStatistics([9, 3, 1, 1, 2, 5], 10, mu=0.4)
FAMILIES = {
    "cross_entropy": "bce focal ce",
    "balanced": "cb rfl ntr_focal db_0fl cb_ntr db",
    "asymmetric": "asl",
    "dice": "dice1 dice2",
    "pairs": "ranking warp bpmll lsep",
    "zlpr": "tlpr zlpr soft_zlpr zlpr_rdrop",
    "f1": "soft_f1 sigmoid_f1 sad_f1 sbayes_f1",
    "counting": "ce_count ce_tencent",
    "mask": "mask_label mask_element",
    "smoothing": "kwls ls_tfidf ls_classic ls_distill",
}
pytestmark = pytest.mark.filterwarnings("ignore:.*small for a loss over batches")
every_loss = pytest.mark.parametrize("name", LOSSES)


@every_loss
def test_class_bears_the_name_it_is_found_by_and_is_exported(name):
    assert LOSSES[name].name == name
    assert getattr(losses, LOSSES[name].__name__) is LOSSES[name]
    assert LOSSES[name].__name__ in losses.__all__


def test_every_name_has_a_class_of_its_own():
    assert len(set(LOSSES.values())) == len(LOSSES)


@every_loss
def test_class_states_its_facts(name):
    loss = LOSSES[name]
    assert all((loss.title, loss.paper, loss.choose_when))
    prose = " ".join(loss.__doc__.split())
    assert all(text in prose for text in ("choose it", "Shapes: ", ">>> "))


@every_loss
def test_defaults_pass_their_own_checks_and_say_where_they_come_from(name):
    for option in LOSSES[name].options().values():
        option.check(option.default)
        assert option.source


@every_loss
def test_signature_shows_what_the_loss_takes(name):
    shown = signature(LOSSES[name]).parameters
    options = LOSSES[name].options()
    built_with = [need for need in LOSSES[name].needs if need in ("statistics", "groups", "task")]
    assert list(shown) == [*built_with, *options]
    assert {key: shown[key].default for key in options} == LOSSES[name].defaults()
    assert all(shown[key].kind is Parameter.KEYWORD_ONLY for key in options)


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


def test_table_holds_every_loss_under_its_family():
    families = {name: family for family, names in FAMILIES.items() for name in names.split()}
    assert {name: row.family for name, row in LOSSES.items()} == families


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
    if LOSSES[name].decision == "probability":
        assert scores.min() >= 0
        assert scores.max() <= 1
    else:
        assert LOSSES[name].decision == "score"
        assert name in FAMILIES["pairs"].split()
        assert torch.equal(scores, logits)


@every_loss
def test_every_loss_fits_both_tasks_but_softmax_cross_entropy(name):
    assert LOSSES[name].tasks == (("single",) if name == "ce" else ("multi", "single"))


def test_losses_that_are_no_mean_over_documents_are_batchwise():
    batchwise = {name for name, loss in LOSSES.items() if loss.batchwise}
    assert batchwise == {"dice2", "soft_f1", "sigmoid_f1", "sad_f1", "sbayes_f1"}
