"""Suggestions for unknown names: the closest known one, or all choices."""

from collections.abc import Collection
from difflib import get_close_matches

RENAMED = {
    "seeds": "num_seeds",
    "threshold": "threshold_grid",
    "unbalance": "undersample",
    "split.together": "split.group_separator",
    "report.mixtures": "report.on_mismatch",
    "paper": "bert",
}
"""Names of earlier versions, and what they are called now."""


def did_you_mean(kind: str, name: str, known: Collection[str]) -> str:
    """An unknown name with the closest known one, or with all choices.

    >>> did_you_mean("recipe", "prob", ["probe", "lstm"])
    "unknown recipe 'prob'; did you mean 'probe'?"
    >>> did_you_mean("recipe", "x", ["probe", "lstm"])
    "unknown recipe 'x'; choose from lstm, probe"
    """
    renamed = [RENAMED[name]] if RENAMED.get(name) in known else []
    close = renamed or get_close_matches(name, known, n=1)
    hint = f"did you mean '{close[0]}'?" if close else f"choose from {', '.join(sorted(known))}"
    return f"unknown {kind} '{name}'; {hint}"
