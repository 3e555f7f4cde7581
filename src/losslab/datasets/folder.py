"""A folder a node may write to by itself."""

from pathlib import Path
from typing import Any

from kedro.io import AbstractDataset, DatasetError


class FolderDataset(AbstractDataset[None, Path]):
    """A place for what a node leaves behind when it cannot return: loads as its path."""

    def __init__(self, *, filepath: str, metadata: dict[str, Any] | None = None) -> None:
        self._folder = Path(filepath)
        self.metadata = metadata

    def load(self) -> Path:
        """The folder, which need not exist yet."""
        return self._folder

    def save(self, data: None) -> None:
        """Refuse: a folder is an input."""
        raise DatasetError(f"{self._folder} is written by the nodes that load it")

    def _exists(self) -> bool:
        return True

    def _describe(self) -> dict[str, Any]:
        return {"folder": str(self._folder)}
