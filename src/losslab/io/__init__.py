"""Kedro datasets of our own: nothing half-written is ever read, nothing read is ever executed."""

from losslab.io.files import CSVDataset, FigureDataset, JSONDataset, ParquetDataset
from losslab.io.folder import FolderDataset
from losslab.io.matrices import SparseMatrixDataset, TensorsDataset
from losslab.io.page import PageDataset, TextDataset
from losslab.io.raw import RawFolderDataset
from losslab.io.soft_labels import SoftLabelsDataset

__all__ = [
    "CSVDataset",
    "FigureDataset",
    "FolderDataset",
    "JSONDataset",
    "PageDataset",
    "ParquetDataset",
    "RawFolderDataset",
    "SoftLabelsDataset",
    "SparseMatrixDataset",
    "TensorsDataset",
    "TextDataset",
]
