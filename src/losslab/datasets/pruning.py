"""Pruning: old versions that nothing refers to."""

import shutil
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import time

from losslab.manifest import MANIFEST, SHORT, BrokenFileError, Manifest, Provenance

RESULTS = ("model.safetensors", "metrics.json", "decision_rules.json", "report.html")
"""Datasets that a run in MLflow stands for: kept as long as the run is."""
CHECKPOINT_DAYS = 7
BROKEN = sys.maxsize
"""The age of a version without a manifest: it is never kept."""


@dataclass(frozen=True)
class SavedVersion:
    """A version of a dataset on disk; ``provenance`` is None where its manifest cannot be read."""

    folder: Path
    age: int
    sha256: str
    size: int
    provenance: Provenance | None

    @property
    def dataset(self) -> str:
        """The file name of the dataset."""
        return self.folder.parent.name


def find_versions(data: Path) -> list[SavedVersion]:
    """Every version below ``data``; ``age`` 0 is the newest of its dataset that has a manifest."""
    folders = {path.parent.parent for path in data.rglob("*/*") if _is_version_file(path)}
    return [version for folder in sorted(folders) for version in _versions_of(folder)]


def select_unused(
    versions: Collection[SavedVersion], *, keep: int, runs: Collection[str]
) -> list[SavedVersion]:
    """The versions to remove: not among the ``keep`` newest, and nothing kept refers to them.

    A report page refers to everything it was made of. ``runs``, the ids of Kedro sessions that MLflow
    has a run of, refer to their ``RESULTS``, and to those that they were made of: the model that a
    later session evaluated.
    """
    results = [each for each in versions if _is_result_of(each, runs)]
    kept = {each.folder for each in (*results, *(v for v in versions if v.age < keep))}
    pages = [each for each in versions if each.folder in kept and each.dataset == "report.html"]
    of_pages, of_results = _upstream(pages), _upstream(results)
    return [
        each
        for each in versions
        if each.folder not in kept
        and each.sha256[:SHORT] not in of_pages
        and not (each.dataset in RESULTS and each.sha256[:SHORT] in of_results)
    ]


def find_old_checkpoints(data: Path) -> list[Path]:
    """Checkpoints of trainings that nobody went on with for ``CHECKPOINT_DAYS``."""
    oldest = time() - CHECKPOINT_DAYS * 24 * 3600
    folders = (path for path in data.glob("06_models/**/checkpoints/*") if path.is_dir())
    return [path for path in folders if path.stat().st_mtime < oldest]


def size_of(folder: Path) -> int:
    """The bytes of all files of a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def remove(versions: Collection[SavedVersion], folders: Collection[Path] = ()) -> None:
    """Remove versions, and folders. The manifest goes first: what is half removed is no result."""
    for each in versions:
        (each.folder / MANIFEST).unlink(missing_ok=True)
        shutil.rmtree(each.folder)
    for folder in folders:
        shutil.rmtree(folder)


def _is_version_file(path: Path) -> bool:
    return path.name == path.parent.parent.name and path.is_file()


def _versions_of(folder: Path) -> Iterator[SavedVersion]:
    files = sorted(folder.glob(f"*/{folder.name}"), reverse=True)
    age = 0
    for file in files:
        facts = file.stat()
        size = facts.st_size if facts.st_nlink == 1 else 0
        try:
            manifest = Manifest.read(file)
        except BrokenFileError:
            yield SavedVersion(file.parent, BROKEN, "", size, None)
        else:
            yield SavedVersion(file.parent, age, manifest.sha256, size, manifest.provenance)
            age += 1


def _upstream(versions: Collection[SavedVersion]) -> set[str]:
    """The hashes of everything that versions were made of."""
    made = (each.provenance for each in versions if each.provenance)
    return {sha for provenance in made for sha in provenance.lineage.datasets.values()}


def _is_result_of(version: SavedVersion, runs: Collection[str]) -> bool:
    made = version.provenance
    return version.dataset in RESULTS and made is not None and made.run.get("id") in runs
