"""What to tell someone who used a name that nothing bears."""

from collections.abc import Collection
from difflib import get_close_matches


def did_you_mean(kind: str, name: str, known: Collection[str]) -> str:
    """An unknown name, the closest known one, and all choices.

    >>> did_you_mean("recipe", "prob", ["probe"])
    "unknown recipe 'prob'; did you mean 'probe'? choose from probe"
    """
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean '{close[0]}'? " if close else ""
    return f"unknown {kind} '{name}'; {hint}choose from {', '.join(sorted(known))}"
