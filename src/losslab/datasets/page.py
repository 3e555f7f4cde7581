"""The report page: a version per run and a copy that is always the newest."""

import shutil
from pathlib import Path
from typing import Any

from losslab.datasets.atomic import AtomicSave, FileDataset


class _PageFile(FileDataset[str]):
    def read(self, path: Path) -> str:
        return path.read_text(encoding="utf-8")

    def write(self, path: Path, data: str) -> None:
        path.write_text(data, encoding="utf-8")


class TextDataset(AtomicSave, _PageFile):
    """A text, such as a document that a run writes."""


class PageDataset(AtomicSave, _PageFile):
    """An HTML page, versioned, copied to ``latest`` beside its versions at each save."""

    def __init__(self, *, latest: str = "latest.html", **options: Any) -> None:
        super().__init__(**options)
        self._latest = latest

    @property
    def latest(self) -> Path:
        """Where the newest page is to be found under a name that does not change."""
        return Path(self._filepath).with_name(self._latest)

    def save(self, data: str) -> None:
        """Write a new version, then the copy."""
        super().save(data)
        part = self.latest.with_name(f".{self._latest}.part")
        shutil.copyfile(self._get_load_path(), part)
        part.replace(self.latest)
