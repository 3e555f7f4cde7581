"""What a class declares wrongly is told when it is defined, or at its first batch."""

from typing import Annotated, Literal

import pytest
import torch

from losslab.losses import LOSSES, Loss, Option
from losslab.losses.registry import check_names


def define(constructor=None, **facts):
    """A class of the name ``tversky`` with these facts."""
    methods = {"__init__": constructor} if constructor else {}
    return type("TverskyLoss", (Loss,), {"name": "tversky", **methods, **facts})


def unannotated(self, *, beta: float = 0.7) -> None: ...
def not_in_needs(self, *, task: str = "multi") -> None: ...
def out_of_bounds(self, *, beta: Annotated[float, Option("a", minimum=0)] = -0.7) -> None: ...
def without_default(self, *, beta: Annotated[float, Option("a")]) -> None: ...
def any_word(self, *, kind: Annotated[str, Option("a")] = "soft") -> None: ...
def another_word(self, *, kind: Annotated[Literal["soft"], Option("a")] = "hard") -> None: ...


def _searched(**option):
    def constructor(self, *, beta: Annotated[float, Option("a", 0, 9, **option)] = 0.7) -> None: ...

    return constructor


def counted(self, *, pairs: Annotated[int, Option("a", search=(1, 9))] = 0) -> None: ...


@pytest.mark.parametrize(
    ("constructor", "message"),
    [
        (_searched(search=(0, 10)), "search of beta must be <= 9, got 10"),
        (
            _searched(search=(2, 1)),
            r"search of beta must be two or more rising numbers, got \(2, 1\)",
        ),
        (_searched(search=(2,)), "search of beta must be two or more rising numbers"),
        (_searched(search=(0, 1), log=True), "search of beta: log needs a range above 0"),
        (_searched(search=(1, 2, 3), log=True), "search of beta: log needs a range above 0"),
        (counted, "search of pairs: only a float has a range"),
    ],
)
def test_what_a_search_tries_is_within_the_bounds(constructor, message):
    with pytest.raises(TypeError, match=f"^TverskyLoss: {message}"):
        define(constructor)


def test_what_a_search_tries_stands_in_the_signature():
    loss = define(_searched(search=(0.1, 2), log=True))
    assert (loss.options()["beta"].search, loss.options()["beta"].log) == ((0.1, 2), True)
    assert repr(Option("a", 0, 9, (0.1, 2), log=True)) == (
        "Option('a', minimum=0, maximum=9, search=(0.1, 2), log=True)"
    )


@pytest.mark.parametrize(
    ("constructor", "message"),
    [
        (unannotated, r"write beta: Annotated\[float, Option\(.*\)\] = \.\.\."),
        (not_in_needs, "add 'task' to needs: its constructor takes it"),
        (out_of_bounds, "the default of beta must be >= 0, got -0.7"),
        (without_default, "the default of beta is missing"),
        (any_word, r"the type of kind must be .*Literal\[\.\.\.\]"),
        (another_word, "the default of kind must be 'soft', got 'hard'"),
    ],
)
def test_constructor_is_checked_when_the_class_is_defined(constructor, message):
    with pytest.raises(TypeError, match=f"^TverskyLoss: {message}$"):
        define(constructor)


def test_needs_of_the_constructor_are_no_hyperparameters():
    assert define(not_in_needs, needs=("task",)).options() == {}


def test_base_class_without_a_name_takes_what_it_likes():
    assert define(unannotated, name="").options() == {}


def test_unknown_need_is_refused():
    message = r"^TverskyLoss: unknown need 'statistic'; known: statistics, groups, task"
    with pytest.raises(TypeError, match=message):
        define(needs=("statistic",))


def test_key_in_the_table_is_the_name():
    check_names(LOSSES)
    with pytest.raises(
        TypeError, match="TverskyLoss: its key in LOSSES is 'tv', its name 'tversky'"
    ):
        check_names({"tv": define()})


def test_value_that_is_no_scalar_is_refused():
    loss = define(compute=lambda self, logits, targets, context: logits)()
    with pytest.raises(
        ValueError, match=r"^tversky: compute must return a scalar, got shape \(2, 3\)"
    ):
        loss(torch.zeros(2, 3), torch.zeros(2, 3))


def test_missing_compute_is_named():
    with pytest.raises(NotImplementedError, match=r"^TverskyLoss: write compute\("):
        define()()(torch.zeros(2, 3), torch.zeros(2, 3))


@pytest.mark.parametrize(("batchwise", "training", "warns"), [(1, 1, 1), (1, 0, 0), (0, 1, 0)])
def test_batchwise_losses_warn_of_small_batches(batchwise, training, warns, recwarn):
    mean = lambda self, logits, targets, context: logits.mean()  # noqa: E731
    loss = define(compute=mean, batchwise=bool(batchwise))().train(bool(training))
    loss(torch.zeros(2, 3), torch.zeros(2, 3))
    expected = "tversky: a batch below 256 documents is small for a loss over batches"
    assert [str(warning.message) for warning in recwarn] == [expected] * warns
