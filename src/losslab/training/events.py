"""Training events for listeners such as experiment tracking; listeners never change a result."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TrainingStarted:
    """A training is about to begin."""

    loss: str
    seed: int


@dataclass(frozen=True)
class EpochEnded:
    """An evaluation at the end of an epoch, or within one; ``evaluation`` counts from 1.

    ``metrics``: train and validation loss, throughput, learning rate, validation metrics.
    """

    loss: str
    seed: int
    epoch: float
    evaluation: int
    metrics: dict[str, float]


@dataclass(frozen=True)
class TrainingEnded:
    """A training has ended; ``facts`` say what it was selected by and why, see ``training_facts``."""

    loss: str
    seed: int
    facts: dict[str, Any]


@dataclass(frozen=True)
class TrialEnded:
    """A trial of a hyperparameter search has ended, in this run or (``current``) in an earlier one.

    ``curve``: the best validation metric so far, by optimizer step. ``settings``: what was tried.
    """

    loss: str
    seed: int
    number: int
    state: str
    value: float | None
    metric: str
    settings: dict[str, Any]
    curve: dict[int, float]
    reason: str = ""
    current: bool = False


Event = TrainingStarted | EpochEnded | TrainingEnded | TrialEnded
Listener = Callable[[Event], None]
_listeners: list[Listener] = []


def publish(event: Event) -> None:
    """Send ``event`` to every listener."""
    for listener in list(_listeners):
        listener(event)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call ``listener`` with every event while the block runs."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@contextmanager
def diverted(listener: Listener) -> Iterator[None]:
    """Call ``listener``, and no other, with every event while the block runs."""
    others, _listeners[:] = list(_listeners), [listener]
    try:
        yield
    finally:
        _listeners[:] = others
