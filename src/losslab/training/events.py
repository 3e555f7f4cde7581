"""What a training tells whoever listens: a tracking server, a test.

Training code publishes, it does not know to whom; nothing here may change a result.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class TrainingStarted:
    """A training is about to begin."""

    loss: str
    seed: int


@dataclass(frozen=True)
class EpochEnded:
    """An epoch, or the part of one that is evaluated, is over.

    ``figures`` are its losses, speed, learning rate and validation metrics; ``evaluation`` counts.
    """

    loss: str
    seed: int
    epoch: float
    evaluation: int
    figures: dict[str, float]


Event = TrainingStarted | EpochEnded
Listener = Callable[[Event], None]
_listeners: list[Listener] = []


def publish(event: Event) -> None:
    """Hand ``event`` to every listener."""
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
