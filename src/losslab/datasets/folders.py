"""Datasets of a folder: raw files of a corpus, results of folds, folders as paths."""

import logging
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from kedro.io import AbstractDataset, DatasetError, Version

from losslab.data.download.raw_folder import advice, has_files, is_sample, origin_file
from losslab.data.download.sources import SOURCES
from losslab.data.readers import PACKAGED
from losslab.datasets.files import JSONDataset
from losslab.manifest import SHORT, hash_path

if TYPE_CHECKING:
    from losslab.training.checkpoint import Checkpoints, Copies

logger = logging.getLogger(__name__)


class FolderDataset(AbstractDataset[None, Path]):
    """A folder that a node receives as its path: results of earlier runs, failed trainings.

    ``scratch``: nodes write there, and no result depends on what it holds.
    """

    def __init__(
        self, *, filepath: str, scratch: bool = False, metadata: dict[str, Any] | None = None
    ) -> None:
        self._folder, self._scratch = Path(filepath), scratch
        self.metadata = metadata

    def load(self) -> Path:
        """The folder, which need not exist yet."""
        return self._folder

    def save(self, data: None) -> None:
        """Raise DatasetError: a folder is an input."""
        raise DatasetError(f"{self._folder} is an input: no node returns a folder")

    def fingerprint(self) -> str | None:
        """Never the same twice: what lies there is not known; None if it is for scratch."""
        return None if self._scratch else uuid4().hex

    def _exists(self) -> bool:
        return True

    def _describe(self) -> dict[str, Any]:
        return {"folder": str(self._folder)}


class InputFileDataset(AbstractDataset[None, Path]):
    """A file of a user's that a node receives as its path; its content decides what is current."""

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._file = Path(filepath)
        self.metadata = metadata

    def load(self) -> Path:
        """The file, which its reader checks."""
        return self._file

    def save(self, data: None) -> None:
        """Raise DatasetError: the file is an input."""
        raise DatasetError(f"{self._file} is an input: no node returns it")

    def fingerprint(self) -> str:
        """A hash of the content."""
        return hash_path(self._file) if self._file.is_file() else "absent"

    def _exists(self) -> bool:
        return self._file.is_file()

    def _describe(self) -> dict[str, Any]:
        return {"file": str(self._file)}


class FoldMetricsDataset(AbstractDataset[None, dict[str, dict[int, Any]]]):
    """A ``metrics.json`` of every loss and fold of a cross-validation, by loss and fold.

    ``filepath`` is the folder of one fold's results, with ``fold=*`` in the place of its number.
    Results are looked up once; each keeps to the version that was pinned, else to the newest when it
    was first read, whatever another cross-validation saves meanwhile.
    """

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._folds, _, self._below = filepath.partition("/fold=*/")
        self.metadata = metadata

    def load(self) -> dict[str, dict[int, Any]]:
        """What there is: a loss may lack folds, and there may be none at all."""
        results: dict[str, dict[int, Any]] = {}
        for (loss, fold), metrics in self.results.items():
            results.setdefault(loss, {})[fold] = metrics.load()
        return results

    def fingerprint(self) -> str:
        """A hash of all results."""
        parts = (f"{key} {metrics.manifest.sha256}" for key, metrics in self.results.items())
        return sha256("\n".join(parts).encode()).hexdigest()[:SHORT]

    @cached_property
    def results(self) -> dict[tuple[str, int], JSONDataset]:
        """By loss and fold: its metrics, unless the newest run failed to make them."""
        newest = Version(None, None)
        saved = {
            self._loss_and_fold(path): JSONDataset(filepath=str(path), version=newest)
            for path in self._files()
        }
        return {key: metrics for key, metrics in saved.items() if not metrics.failure}

    def _loss_and_fold(self, path: Path) -> tuple[str, int]:
        fold = path.relative_to(self._folds).parts[0].removeprefix("fold=")
        return path.parent.name.removesuffix("_loss"), int(fold)

    def save(self, data: None) -> None:
        """Raise DatasetError: each fold saves its own."""
        raise DatasetError(f"{self._folds} is an input: each fold saves its own results")

    def _files(self) -> list[Path]:
        return sorted(Path(self._folds).glob(f"fold=*/{self._below}/*_loss/metrics.json"))

    def _exists(self) -> bool:
        return bool(self._files())

    def _describe(self) -> dict[str, Any]:
        return {"folder": self._folds, "results": self._below}


class CheckpointsDataset(AbstractDataset[None, "Checkpoints"]):
    """Checkpoints of trainings under way, a folder per training configuration.

    ``key`` names the configuration of the node that runs next; whoever runs it sets the key.
    ``copies``: where checkpoints are kept besides, for workers that do not share the folder.
    """

    def __init__(
        self, *, filepath: str, interval: float, metadata: dict[str, Any] | None = None
    ) -> None:
        self._folder, self._interval = Path(filepath), interval
        self.key = "default"
        self.copies: Copies | None = None
        self.metadata = metadata

    def load(self) -> "Checkpoints":
        """The checkpoints of the configuration ``key``; there need not be any yet."""
        from losslab.training.checkpoint import Checkpoints

        return Checkpoints(self._folder / self.key, self._interval, copies=self.copies)

    def save(self, data: None) -> None:
        """Raise DatasetError: trainings write checkpoints, no node returns them."""
        raise DatasetError(f"{self._folder} is an input: no node returns checkpoints")

    def _exists(self) -> bool:
        return True

    def _describe(self) -> dict[str, Any]:
        return {"folder": str(self._folder), "interval": self._interval, "key": self.key}


class RawFolderDataset(AbstractDataset[None, Path]):
    """The folder of a corpus's raw files: ``filepath``, or that of an installed package."""

    def __init__(
        self, *, dataset: str, filepath: str, metadata: dict[str, Any] | None = None
    ) -> None:
        self._dataset = dataset
        self._folder = Path(filepath)
        self.metadata = metadata

    def load(self) -> Path:
        """The folder; raise DatasetError with the command or steps that fetch missing files.

        The folder of an unknown dataset (user data) may be missing: its reader checks the file.
        """
        if has_files(self._folder):
            if is_sample(self._folder):
                origin = origin_file(self._folder).name
                logger.warning(
                    "'%s' is a sample (%s), too small for a result", self._dataset, origin
                )
            return self._folder
        if self._dataset in PACKAGED:
            return PACKAGED[self._dataset]()
        if self._can_be_fetched():
            how = advice(self._dataset, self._folder)
            raise DatasetError(f"the raw files of '{self._dataset}' are missing: {how}")
        return self._folder

    def fingerprint(self) -> str:
        """A hash of the raw files, and whether they are a sample."""
        folder = self.load()
        content = hash_path(folder) if folder.is_dir() else "absent"
        return f"{content} sample" if is_sample(folder) else content

    def save(self, data: None) -> None:
        """Raise DatasetError: raw files are read only."""
        raise DatasetError("raw files are read only")

    def _exists(self) -> bool:
        return not self._can_be_fetched() or has_files(self._folder)

    def _can_be_fetched(self) -> bool:
        return self._dataset in SOURCES and not SOURCES[self._dataset].ready

    def _describe(self) -> dict[str, Any]:
        return {"dataset": self._dataset, "folder": str(self._folder)}
