"""What a command of several runs tells the hooks of each, and what they hand back."""

from dataclasses import dataclass, field
from typing import Any

import click

PART = "losslab.part"
"""Where a command's ``meta`` holds the part it is about to run."""


@dataclass
class RunPart:
    """A run that is a part of a command: a fold, a point of a sweep. It prints no answer.

    Args:
        tags: of its runs in MLflow.
        asked: names of datasets that the command asks for.
        datasets: those of them that the run made or found current: its own versions, no other's.
    """

    tags: dict[str, str] = field(default_factory=dict)
    asked: frozenset[str] = frozenset()
    datasets: dict[str, Any] = field(default_factory=dict)


def current_part() -> RunPart | None:
    """The part that the command is running; None where a run is the whole command."""
    command = click.get_current_context(silent=True)
    return command.meta.get(PART) if command is not None else None
