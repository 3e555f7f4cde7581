import dataclasses
import subprocess
import sys
from importlib import import_module

import pytest
import torch

from losslab.evaluation import PROBABILITIES
from losslab.losses import LOSSES, LabelStatistics, Option, build_loss

STATISTICS = LabelStatistics([9, 3, 1], 10, mu=0.4)
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


@every_loss
def test_loss_builds_from_its_defaults(name):
    value = build_loss(name, STATISTICS)(torch.zeros(2, 3), torch.eye(2, 3))
    assert value.ndim == 0
    assert value > 0


@every_loss
def test_statistics_are_needed_where_the_row_says_so(name):
    if "statistics" in LOSSES[name].needs:
        with pytest.raises(ValueError, match=f"{name} needs the label statistics"):
            build_loss(name)
    else:
        assert build_loss(name)(torch.zeros(2, 3), torch.eye(2, 3)) > 0


@every_loss
def test_soft_targets_are_taken_where_the_row_says_so(name):
    loss = build_loss(name, STATISTICS)
    soft = torch.full((2, 3), 0.3)
    if LOSSES[name].accepts_soft_targets:
        assert loss(torch.zeros(2, 3), soft).isfinite()
    else:
        with pytest.raises(ValueError, match="no soft targets"):
            loss(torch.zeros(2, 3), soft)


@every_loss
def test_decision_rule_is_one_that_evaluation_knows(name):
    assert LOSSES[name].decision in PROBABILITIES


@every_loss
def test_row_is_read_only(name):
    with pytest.raises(TypeError):
        LOSSES[name].options["gamma"] = Option(1.0, "")
    with pytest.raises(dataclasses.FrozenInstanceError):
        LOSSES[name].name = "other"
