"""Whether a training had learned when it ended: what it was selected by, and a mark where it had not."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from losslab.evaluation.trivial import beats_trivial

MARK = "stopped before it had learned"
NEVER_BEATEN = "never better than the best trivial prediction on validation"
STILL_FALLING = "training and validation loss were still falling steadily"
STILL_IMPROVING = "validation metric and losses still improved at every evaluation of its budget"
MIN_EVALUATIONS = 8
"""Fewer have no quarters to compare; they are judged by every change."""


def summarise_trainings(history: pd.DataFrame) -> dict[str, Any]:
    """``seeds``: the facts of each training by seed; ``mark`` of the loss: those of its seeds, or None.

    ``history``: rows of ``Fitted.full_history``, of all seeds.
    """
    seeds = {str(seed): training_facts(rows) for seed, rows in history.groupby("seed", sort=False)}
    return {"seeds": seeds, "mark": _mark_of_loss({s: facts["mark"] for s, facts in seeds.items()})}


def training_facts(history: pd.DataFrame) -> dict[str, Any]:
    """Of one training: what it was selected by, the best epoch, why it ended, its mark or None.

    ``validation`` and ``trivial``: the metrics that must be beaten, of the best epoch and of the best
    trivial predictions.
    """
    last = history.iloc[-1]
    best = history[history["epoch"] == last["best"]].iloc[0]
    names = [name.removeprefix("trivial_") for name in history if name.startswith("trivial_")]
    facts = {
        "select_by": str(last["select_by"]),
        "best_epoch": float(last["best"]),
        "epochs": float(last["epoch"]),
        "steps": int(last["train_steps"]),
        "ended_by": str(last["ended_by"]),
        "validation": {name: float(best[f"validation_{name}"]) for name in names},
        "trivial": {name: float(last[f"trivial_{name}"]) for name in names},
    }
    setting = {"setting": str(best["setting"])} if "setting" in history else {}
    return {**facts, **setting, "mark": _find_mark(history, facts)}


def _find_mark(history: pd.DataFrame, facts: Mapping[str, Any]) -> str | None:
    """Why a training ended before it had learned; None where it had.

    A training loss that falls while the validation loss does not is overfitting: it had learned.
    """
    if not beats_trivial(facts["validation"], facts["trivial"]):
        return f"{MARK}: {NEVER_BEATEN}"
    losses = [history[f"{split}_loss"] for split in ("train", "validation")]
    if len(history) >= MIN_EVALUATIONS:
        return f"{MARK}: {STILL_FALLING}" if all(map(falls_steadily, losses)) else None
    curves = [*losses, -history[f"validation_{facts['select_by']}"]]
    cut_short = facts["ended_by"] == "budget" and facts["best_epoch"] == facts["epochs"]
    improving = cut_short and all(map(falls_at_every_step, curves))
    return f"{MARK}: {STILL_IMPROVING}" if improving else None


def falls_steadily(curve: pd.Series) -> bool:
    """Whether a curve falls at its end, at half its former pace or more.

    Of the medians of its quarters, the fourth is below the third by at least half as much as the
    third is below the second, and by more than noise: the median change between two evaluations.

    >>> falls_steadily(pd.Series([8, 7, 6, 5, 4, 3, 2, 1])), falls_steadily(pd.Series([8, 2] + [1] * 6))
    (True, False)
    """
    values = curve.to_numpy(dtype=float)
    if len(values) < MIN_EVALUATIONS:
        return False
    _, second, third, fourth = (float(np.median(part)) for part in np.array_split(values, 4))
    noise = float(np.median(np.abs(np.diff(values))))
    fall = third - fourth
    return fall > noise and fall >= (second - third) / 2


def falls_at_every_step(curve: pd.Series) -> bool:
    """Whether every value of a short curve is below the one before it, the last by no less than half
    of the change before; a single value does not fall.

    >>> falls_at_every_step(pd.Series([5, 3, 2])), falls_at_every_step(pd.Series([9, 3, 2]))
    (True, False)
    """
    falls = -np.diff(curve.to_numpy(dtype=float))
    return bool(len(falls) and (falls > 0).all() and falls[-1] >= falls[-2:][0] / 2)


def _mark_of_loss(marks: dict[str, str | None]) -> str | None:
    """The marks of its seeds; which ones, where not all have it."""
    parts = []
    for mark in dict.fromkeys(mark for mark in marks.values() if mark):
        seeds = [seed for seed, other in marks.items() if other == mark]
        some = f" ({len(seeds)} of {len(marks)} seeds: {', '.join(seeds)})"
        parts.append(mark.removeprefix(f"{MARK}: ") + (some if len(seeds) < len(marks) else ""))
    return f"{MARK}: {'; '.join(parts)}" if parts else None


def describe_training(facts: Mapping[str, Any]) -> str:
    """What a training was selected by, and why it ended.

    >>> facts = {"select_by": "macro_f1", "best_epoch": 12.0, "epochs": 42.0, "ended_by": "patience"}
    >>> describe_training(facts)
    'selected by validation macro-F1, epoch 12 of 42; ended by patience'
    """
    metric = facts["select_by"].replace("_f1", "-F1").replace("_", " ")
    if "setting" in facts:
        return _describe_search(facts, metric)
    return (
        f"selected by validation {metric}, epoch {facts['best_epoch']:g} of {facts['epochs']:g}; "
        f"ended by {facts['ended_by']}"
    )


def _describe_search(facts: Mapping[str, Any], metric: str) -> str:
    """What a baseline's search chose.

    >>> _describe_search({"setting": "c = 3", "epochs": 5.0}, "macro-F1")
    'deterministic; c = 3 of 5 values by validation macro-F1'
    """
    if not facts["setting"]:
        return "deterministic"
    values = f" of {facts['epochs']:g} values by validation {metric}" if facts["epochs"] > 1 else ""
    return f"deterministic; {facts['setting']}{values}"
