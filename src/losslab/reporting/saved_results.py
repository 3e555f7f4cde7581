"""Results that earlier runs left below ``data/08_reporting``.

Dataset and recipe are those of the recorded conditions. The folders may be named otherwise: a
variant of a dataset or a recipe (other reader options, another backbone) has a folder of its own.
"""

import json
import logging
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from losslab.evaluation import fingerprint

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class SavedResult:
    """One version of a loss's results; ``folder`` is that of its dataset and recipe."""

    folder: Path
    loss: str
    version: str
    result: Mapping[str, Any]

    @property
    def dataset(self) -> str:
        """The dataset's name, without a variant's."""
        return str(self.result["conditions"]["dataset"])

    @property
    def recipe(self) -> str:
        """The recipe's name, without a variant's."""
        return str(self.result["conditions"]["recipe"]["name"])

    @property
    def is_variant(self) -> bool:
        """Whether dataset or recipe have other options than their own."""
        return (self.folder.parent.name, self.folder.name) != (self.dataset, self.recipe)

    @property
    def is_fold(self) -> bool:
        """Whether this is one fold of a cross-validation."""
        return bool(self.result["conditions"]["split"].get("folds"))

    @property
    def is_whole_corpus(self) -> bool:
        """Whether the corpus is as published: neither a fold nor undersampled."""
        return not self.is_fold and not self.result["conditions"].get("undersample")


def saved_results(folder: Path) -> Iterator[SavedResult]:
    """Of every ``<dataset>/<recipe>/<loss>_loss/metrics.json/<version>/``; of a loss, oldest first."""
    for file in sorted(folder.glob("*/*/*_loss/metrics.json/*/metrics.json")):
        loss, version = file.parents[2], file.parent.name
        result = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(result["conditions"]["recipe"], Mapping):
            logger.warning("%s is left out: an earlier version of losslab wrote it", file)
            continue
        yield SavedResult(loss.parent, loss.name.removesuffix("_loss"), version, result)


@dataclass(frozen=True)
class CrossValidation:
    """Means over seeds by loss and fold, under the same conditions."""

    dataset: str
    recipe: str
    folds: int
    results: Mapping[str, Mapping[int, Mapping[str, float]]]


def saved_folds(folder: Path) -> list[CrossValidation]:
    """The newest cross-validation of each dataset and recipe; of a repeated fold, the newest.

    Folds of a loss with other options than its newest are left out.
    """
    by_conditions: dict[str, dict[str, list[SavedResult]]] = defaultdict(lambda: defaultdict(list))
    newest: dict[Path, tuple[str, str]] = {}
    for saved in saved_results(folder):
        if saved.is_fold:
            key = _conditions_without_fold(saved.result["conditions"])
            by_conditions[key][saved.loss].append(saved)
            last = (saved.version, key)
            newest[saved.folder] = max(newest.get(saved.folder, last), last)
    return [_cross_validation(by_conditions[key]) for _, key in newest.values()]


def _cross_validation(losses: Mapping[str, list[SavedResult]]) -> CrossValidation:
    results = {
        loss: {
            saved.result["conditions"]["split"]["fold"]: saved.result["mean"]
            for saved in versions
            if saved.result["options"] == versions[-1].result["options"]
        }
        for loss, versions in losses.items()
    }
    first = next(iter(losses.values()))[0]
    folds = first.result["conditions"]["split"]["folds"]
    return CrossValidation(first.folder.parent.name, first.folder.name, folds, results)


def _conditions_without_fold(conditions: Mapping[str, Any]) -> str:
    """What the folds of a cross-validation share; the data follow from it and the fold."""
    split = {name: value for name, value in conditions["split"].items() if name != "fold"}
    others = {name: value for name, value in conditions.items() if name not in ("split", "data")}
    return fingerprint({**others, "split": split})


def saved_comparisons(folder: Path) -> dict[str, dict[str, dict[str, float]]]:
    """Metrics by loss of the newest comparison of each ``<dataset>/<recipe>`` folder.

    Comparisons of a single fold or of an undersampled corpus are other experiments and passed over,
    as are those whose results are not there to tell; incomparable losses are left out.
    """
    versions = _versions(folder)
    comparisons = {}
    for recipe in sorted(path.parent for path in folder.glob("*/*/comparison.csv")):
        for file in sorted(recipe.glob("comparison.csv/*/comparison.csv"), reverse=True):
            table = pd.read_csv(file)
            comparable = table[table["differs"].isna()].set_index("loss")
            results = [versions.get((recipe, loss), {}) for loss in comparable.index]
            if all(_is_whole(by_version, file.parent.name) for by_version in results):
                comparisons[f"{recipe.parent.name}/{recipe.name}"] = comparable.select_dtypes(
                    "number"
                ).to_dict("index")
                break
    return comparisons


def _versions(folder: Path) -> dict[tuple[Path, str], dict[str, bool]]:
    """By folder and loss: whether each version is of the whole corpus."""
    versions: dict[tuple[Path, str], dict[str, bool]] = defaultdict(dict)
    for saved in saved_results(folder):
        versions[saved.folder, saved.loss][saved.version] = saved.is_whole_corpus
    return versions


def _is_whole(versions: Mapping[str, bool], comparison: str) -> bool:
    """Whether the newest results at the time of a comparison were of the whole corpus."""
    earlier = [version for version in versions if version <= comparison]
    return bool(earlier) and versions[max(earlier)]
