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

from losslab.manifest import BrokenFileError, Manifest
from losslab.parameters import method_of, namespace
from losslab.reporting.comparison import incomparable_losses, marked_losses

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
    def is_whole_corpus(self) -> bool:
        """Whether the corpus is as published: neither a sample, nor a fold, nor undersampled.

        Folds lie deeper, out of sight; those of earlier versions do not.
        """
        conditions = self.result["conditions"]
        part = conditions["split"].get("folds") or conditions.get("undersample")
        return not (part or conditions.get("sample"))


def saved_results(folder: Path) -> Iterator[SavedResult]:
    """Of every ``<dataset>/<recipe>/<loss>_loss/metrics.json/<version>/``; of a loss, oldest first.

    Baselines lie beside the losses, as ``<baseline>_baseline``.
    """
    for file in sorted(folder.glob("*/*/*_*/metrics.json/*/metrics.json")):
        loss, version = file.parents[2], file.parent.name
        if namespace(method_of(loss.name)) != loss.name or not is_sound(file):
            continue  # references of retrieval have no recipe
        result = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(result["conditions"]["recipe"], Mapping):
            logger.warning("%s is left out: an earlier version of losslab wrote it", file)
            continue
        yield SavedResult(loss.parent, method_of(loss.name), version, result)


def is_sound(file: Path) -> bool:
    """Whether a file agrees with its manifest; one that does not is told and passed over."""
    try:
        Manifest.read(file).verify(file)
    except BrokenFileError as error:
        logger.warning("passed over: %s", error)
        return False
    return True


def saved_comparisons(folder: Path) -> dict[str, dict[str, dict[str, float]]]:
    """Metrics by loss of the newest comparison of each dataset and recipe.

    Comparisons of a variant, a single fold or an undersampled corpus are other experiments and passed
    over, as are those whose results are not there to tell. Incomparable losses are left out, and
    those that stopped before they had learned.
    """
    versions = _versions(folder)
    comparisons = {}
    for recipe in sorted(path.parent for path in folder.glob("*/*/comparison.csv")):
        files = sorted(recipe.glob("comparison.csv/*/comparison.csv"), reverse=True)
        for file in filter(is_sound, files):
            table = pd.read_csv(file)
            left_out = {*incomparable_losses(table), *marked_losses(table)}
            comparable = table[~table["loss"].isin(left_out)].set_index("loss")
            results = [versions.get((recipe, loss), {}) for loss in comparable.index]
            if all(_counts(by_version, file.parent.name) for by_version in results):
                comparisons[f"{recipe.parent.name}/{recipe.name}"] = comparable.select_dtypes(
                    "number"
                ).to_dict("index")
                break
    return comparisons


def _versions(folder: Path) -> dict[tuple[Path, str], dict[str, bool]]:
    """By folder and loss: whether each version is of the whole corpus, and no variant."""
    versions: dict[tuple[Path, str], dict[str, bool]] = defaultdict(dict)
    for saved in saved_results(folder):
        counts = saved.is_whole_corpus and not saved.is_variant
        versions[saved.folder, saved.loss][saved.version] = counts
    return versions


def _counts(versions: Mapping[str, bool], comparison: str) -> bool:
    """Whether the newest results at the time of a comparison count."""
    earlier = [version for version in versions if version <= comparison]
    return bool(earlier) and versions[max(earlier)]
