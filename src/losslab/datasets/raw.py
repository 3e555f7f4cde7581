"""The raw files of a corpus: a folder of the project, or of an installed package."""

import logging
from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset, DatasetError

from losslab.data.download.raw_folder import advice, has_files, is_sample, origin_file
from losslab.data.download.sources import SOURCES
from losslab.data.readers import PACKAGED

logger = logging.getLogger(__name__)


class RawFolderDataset(AbstractDataset[None, Path]):
    """The folder a reader reads: ``filepath``, else that of the package ``dataset`` comes with."""

    def __init__(
        self, *, dataset: str, filepath: str, metadata: dict[str, Any] | None = None
    ) -> None:
        self._dataset = dataset
        self._folder = Path(filepath)
        self.metadata = metadata

    def load(self) -> Path:
        """The folder, or an error that says how to get its files.

        A dataset we do not know is one's own: its reader says which file it misses.
        """
        if has_files(self._folder):
            if is_sample(self._folder):
                told = origin_file(self._folder).name
                logger.warning("'%s' is a sample (%s), too small for a result", self._dataset, told)
            return self._folder
        if self._dataset in PACKAGED:
            return PACKAGED[self._dataset]()
        if self._can_be_fetched():
            how = advice(self._dataset, self._folder)
            raise DatasetError(f"the raw files of '{self._dataset}' are missing: {how}")
        return self._folder

    def save(self, data: None) -> None:
        """Refuse: raw files are never written by a pipeline."""
        raise DatasetError("raw files are read only")

    def _exists(self) -> bool:
        return not self._can_be_fetched() or has_files(self._folder)

    def _can_be_fetched(self) -> bool:
        return self._dataset in SOURCES and not SOURCES[self._dataset].ready

    def _describe(self) -> dict[str, Any]:
        return {"dataset": self._dataset, "folder": str(self._folder)}
