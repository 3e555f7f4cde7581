from collections.abc import Sequence
from typing import Annotated, Literal

import pytest
import torch
from loss_cases import build, draw_batch, draw_context

from losslab.losses import LOSSES, LabelStatistics, Loss, Option
from losslab.losses.hyperparameters import LARGEST, read_hyperparameters


class Example(Loss):
    name = "example"

    def __init__(
        self,
        unbounded: float = 1.0,
        *,
        share: Annotated[float, Option("a test", minimum=0, maximum=1)] = 0.5,
        pairs: Annotated[int, Option("a test", minimum=0)] = 0,
        switch: Annotated[bool, Option("a test")] = True,
        kind: Annotated[Literal["soft", "hard"], Option("a test")] = "soft",
        mu: Annotated[float | Literal["auto"], Option("a test")] = "auto",
        beta: Annotated[float | Sequence[float], Option("a test", minimum=1)] = 1.0,
    ) -> None:
        super().__init__()


def test_hyperparameters_are_the_arguments_with_an_option():
    assert Example.defaults() == {
        "share": 0.5,
        "pairs": 0,
        "switch": True,
        "kind": "soft",
        "mu": "auto",
        "beta": 1.0,
    }
    assert Example.options()["share"].source == "a test"


@pytest.mark.parametrize(
    "values",
    [
        {"share": 0},
        {"share": 1},
        {"pairs": 3},
        {"pairs": 3.0},
        {"switch": False},
        {"kind": "hard"},
        {"mu": 0.3},
        {"mu": "auto"},
        {"beta": [1, 2.5]},
        {"beta": (3.0,)},
        {"unbounded": -5},
    ],
    ids=str,
)
def test_values_within_bounds_are_taken(values):
    assert isinstance(Example(**values), Example)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"share": 1.5}, "share must be <= 1, got 1.5"),
        ({"share": -0.5}, "share must be >= 0, got -0.5"),
        ({"share": "half"}, "share must be a number, got 'half'"),
        ({"share": True}, "share must be a number, got True"),
        ({"share": float("nan")}, "share must be a number, got nan"),
        ({"share": [0.5]}, r"share must be a number, got \[0.5\]"),
        ({"pairs": 0.5}, "pairs must be a whole number, got 0.5"),
        ({"switch": 1}, "switch must be true or false, got 1"),
        ({"kind": 3}, "kind must be 'soft' or 'hard', got 3"),
        ({"mu": "often"}, "mu must be a number or 'auto', got 'often'"),
        ({"beta": [1.0, 0.5]}, "beta must be >= 1, got 0.5"),
    ],
    ids=str,
)
def test_values_out_of_bounds_are_refused_by_the_constructor(values, message):
    with pytest.raises(ValueError, match=f"^example: {message}$"):
        Example(**values)


def test_a_name_that_is_no_argument_is_refused_as_python_does():
    with pytest.raises(TypeError, match="unexpected keyword argument 'shaer'"):
        Example(shaer=1)


def test_hyperparameters_are_read_once():
    assert read_hyperparameters(Example.__init__) is read_hyperparameters(Example.__init__)


@pytest.mark.parametrize("name", LOSSES)
def test_options_handed_out_can_be_changed_without_harm(name):
    LOSSES[name].options()["gamma"] = None
    LOSSES[name].defaults()["gamma"] = 7
    assert 7 not in LOSSES[name].defaults().values()
    assert None not in LOSSES[name].options().values()


@pytest.mark.filterwarnings("ignore:.*small for a loss over batches")
@pytest.mark.parametrize("name", LOSSES)
def test_largest_values_are_computed_with_and_larger_ones_refused(name):
    statistics = LabelStatistics([3, 2, 1, 1], 9, mu=0.3)
    logits, targets = draw_batch(3, 4, torch.float32)
    for option, rule in LOSSES[name].options().items():
        if not {int, float} & set(rule.types):
            continue
        for absurd in (1e30, 10**400, -1e30):
            with pytest.raises(ValueError, match=f"{option} must be"):
                rule.check(absurd)
        largest = LARGEST if rule.maximum is None else rule.maximum
        loss = build(name, {option: largest}, statistics, groups=[0, 0, 1, 1])
        loss(logits.requires_grad_(), targets, draw_context(3, 4, torch.float32)).backward()
