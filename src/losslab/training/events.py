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


Event = TrainingStarted | EpochEnded | TrainingEnded
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
