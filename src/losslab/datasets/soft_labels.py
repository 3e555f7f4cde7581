"""Soft labels in the catalog."""

from pathlib import Path

from losslab.datasets.atomic import AtomicSave, FileDataset
from losslab.supervision import SoftLabels, load_soft_labels, save_soft_labels


class _SoftLabelsFile(FileDataset[SoftLabels]):
    def read(self, path: Path) -> SoftLabels:
        return load_soft_labels(path)

    def write(self, path: Path, data: SoftLabels) -> None:
        save_soft_labels(data, path)


class SoftLabelsDataset(AtomicSave, _SoftLabelsFile):
    """Soft labels, made from their factors when rows are asked for."""
