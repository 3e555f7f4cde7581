"""Results that earlier runs left below ``data/08_reporting``."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from losslab.evaluation import fingerprint


@dataclass(frozen=True)
class Saved:
    """One version of a loss's metrics."""

    dataset: str
    recipe: str
    loss: str
    version: str
    result: Mapping[str, Any]


def saved_results(folder: Path) -> Iterator[Saved]:
    """All there are in ``<dataset>/<recipe>/<loss>_loss/metrics.json/<version>/``, oldest first."""
    for file in sorted(folder.glob("*/*/*_loss/metrics.json/*/metrics.json")):
        loss, version = file.parents[2], file.parent.name
        recipe = loss.parent
        result = json.loads(file.read_text(encoding="utf-8"))
        name = loss.name.removesuffix("_loss")
        yield Saved(recipe.parent.name, recipe.name, name, version, result)


@dataclass(frozen=True)
class Validation:
    """A cross-validation: means over seeds by loss and fold, all else being equal."""

    dataset: str
    recipe: str
    folds: int
    results: Mapping[str, Mapping[int, Mapping[str, float]]]


def saved_folds(folder: Path) -> list[Validation]:
    """The newest cross-validation of each dataset and recipe; of a fold that ran twice, the newest.

    A loss is that of its newest options: folds with others are left out.
    """
    found: dict[str, dict[str, list[Saved]]] = defaultdict(lambda: defaultdict(list))
    newest: dict[tuple[str, str], tuple[str, str]] = {}
    for saved in filter(is_fold, saved_results(folder)):
        key = _all_but_the_fold(saved.result["conditions"])
        found[key][saved.loss].append(saved)
        place, last = (saved.dataset, saved.recipe), (saved.version, key)
        newest[place] = max(newest.get(place, last), last)
    return [_validation(found[key]) for _, key in newest.values()]


def is_fold(saved: Saved) -> bool:
    """Whether a result is that of one fold of several."""
    return bool(saved.result["conditions"]["split"].get("folds"))


def _validation(losses: Mapping[str, list[Saved]]) -> Validation:
    results = {
        loss: {
            saved.result["conditions"]["split"]["fold"]: saved.result["mean"]
            for saved in versions
            if saved.result["options"] == versions[-1].result["options"]
        }
        for loss, versions in losses.items()
    }
    any_one = next(iter(losses.values()))[0]
    folds = any_one.result["conditions"]["split"]["folds"]
    return Validation(any_one.dataset, any_one.recipe, folds, results)


def _all_but_the_fold(conditions: Mapping[str, Any]) -> str:
    """What the folds of a cross-validation have in common; the data follow from it and the fold."""
    split = {name: value for name, value in conditions["split"].items() if name != "fold"}
    others = {name: value for name, value in conditions.items() if name not in ("split", "data")}
    return fingerprint({**others, "split": split})


def saved_comparisons(folder: Path) -> dict[str, dict[str, dict[str, float]]]:
    """Metrics by loss of the newest comparison of each ``<dataset>/<recipe>``, marked losses out."""
    comparisons = {}
    for place in sorted(folder.glob("*/*/comparison.csv")):
        newest = max(place.glob("*/comparison.csv"), default=None)
        if newest is not None:
            table = pd.read_csv(newest)
            like = table[table["differs"].isna()].set_index("loss")
            name = f"{place.parents[1].name}/{place.parent.name}"
            comparisons[name] = like.select_dtypes("number").to_dict("index")
    return comparisons
