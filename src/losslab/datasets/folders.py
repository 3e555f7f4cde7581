"""Datasets of a folder: raw files of a corpus, and folders that nodes receive as a path."""

import logging
from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset, DatasetError

from losslab.data.download.raw_folder import advice, has_files, is_sample, origin_file
from losslab.data.download.sources import SOURCES
from losslab.data.readers import PACKAGED

logger = logging.getLogger(__name__)


class FolderDataset(AbstractDataset[None, Path]):
    """A folder that a node receives as its path: results of earlier runs, failed trainings."""

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._folder = Path(filepath)
        self.metadata = metadata

    def load(self) -> Path:
        """The folder, which need not exist yet."""
        return self._folder

    def save(self, data: None) -> None:
        """Raise DatasetError: a folder is an input."""
        raise DatasetError(f"{self._folder} is an input: no node returns a folder")

    def _exists(self) -> bool:
        return True

    def _describe(self) -> dict[str, Any]:
        return {"folder": str(self._folder)}


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

    def save(self, data: None) -> None:
        """Raise DatasetError: raw files are read only."""
        raise DatasetError("raw files are read only")

    def _exists(self) -> bool:
        return not self._can_be_fetched() or has_files(self._folder)

    def _can_be_fetched(self) -> bool:
        return self._dataset in SOURCES and not SOURCES[self._dataset].ready

    def _describe(self) -> dict[str, Any]:
        return {"dataset": self._dataset, "folder": str(self._folder)}
