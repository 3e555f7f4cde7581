import dataclasses
import subprocess
import sys
from importlib import import_module

import pytest
import torch
from loss_cases import build, draw_batch, draw_context

from losslab.losses import LOSSES, LabelStatistics, Option

STATISTICS = LabelStatistics([9, 3, 1, 1, 2, 5], 10, mu=0.4)
FAMILIES = {
    "pointwise": "bce focal",
    "balanced": "cb rfl ntr_focal db_0fl cb_ntr db",
    "asymmetric": "asl",
    "dice": "dice1 dice2",
    "pairs": "ranking warp bpmll lsep",
    "zlpr": "tlpr zlpr soft_zlpr zlpr_rdrop",
    "f1": "soft_f1 sigmoid_f1 sad_f1 sbayes_f1",
    "counting": "ce_count ce_tencent",
    "mask": "mask_label mask_element",
    "smoothing": "ce kwls ls_tfidf ls_classic ls_distill",
}
pytestmark = pytest.mark.filterwarnings("ignore:.*small for a loss over batches")
every_loss = pytest.mark.parametrize("name", LOSSES)


def test_table_is_importable_without_torch():
    check = "import sys, losslab.losses; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


@every_loss
def test_row_bears_the_name_it_is_found_by(name):
    assert LOSSES[name].name == name


@every_loss
def test_row_names_a_module_class(name):
    module, _, implementation = LOSSES[name].implementation.partition(":")
    loss = getattr(import_module(f"losslab.losses.{module}"), implementation)
    assert issubclass(loss, torch.nn.Module)


@every_loss
def test_defaults_pass_their_own_checks_and_say_where_they_come_from(name):
    for option, row in LOSSES[name].options.items():
        row.check(option, row.default)
        assert row.source
    assert LOSSES[name].defaults() == {
        option: row.default for option, row in LOSSES[name].options.items()
    }


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


def test_losses_that_are_no_mean_over_documents_ask_for_whole_batches():
    whole = {name for name, spec in LOSSES.items() if spec.whole_batch}
    assert whole == {"dice2", "soft_f1", "sigmoid_f1", "sad_f1", "sbayes_f1"}


@every_loss
def test_row_is_read_only(name):
    with pytest.raises(TypeError):
        LOSSES[name].options["gamma"] = Option(1.0, "")
    with pytest.raises(dataclasses.FrozenInstanceError):
        LOSSES[name].name = "other"
