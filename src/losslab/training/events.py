"""What a training tells whoever listens: a progress bar, a tracking server, a test.

Training code publishes, it does not know to whom; nothing here may change a result.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

Listener = Callable[["EpochEnded"], None]
_listeners: list[Listener] = []


@dataclass(frozen=True)
class EpochEnded:
    """An epoch of one training is over; ``figures`` are its loss and validation metrics."""

    training: str
    seed: int
    epoch: int
    figures: dict[str, float] = field(default_factory=dict)


def publish(event: EpochEnded) -> None:
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
