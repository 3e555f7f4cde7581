"""The raw files of a corpus: a folder of the project, or of an installed package."""

from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset, DatasetError

from losslab.corpora import PACKAGED


class RawFolderDataset(AbstractDataset[None, Path]):
    """The folder a reader reads: ``filepath``, else that of the package ``dataset`` comes with."""

    def __init__(
        self, *, dataset: str, filepath: str, metadata: dict[str, Any] | None = None
    ) -> None:
        self._dataset = dataset
        self._folder = Path(filepath)
        self.metadata = metadata

    def load(self) -> Path:
        """The folder, or an error that says which one is missing."""
        if self._folder.is_dir():
            return self._folder
        if self._dataset in PACKAGED:
            return PACKAGED[self._dataset]()
        raise DatasetError(
            f"the raw files of '{self._dataset}' are missing: no folder {self._folder}"
        )

    def save(self, data: None) -> None:
        """Refuse: raw files are never written by a pipeline."""
        raise DatasetError("raw files are read only")

    def _exists(self) -> bool:
        return self._dataset in PACKAGED or self._folder.is_dir()

    def _describe(self) -> dict[str, Any]:
        return {"dataset": self._dataset, "folder": str(self._folder)}
