"""Kedro datasets of our own: nothing half-written is ever read, nothing read is ever executed."""

from losslab.datasets.files import CSVDataset, FigureDataset, JSONDataset, ParquetDataset
from losslab.datasets.folder import FolderDataset
from losslab.datasets.matrices import PredictionsDataset, SparseMatrixDataset, TensorsDataset
from losslab.datasets.page import PageDataset, TextDataset
from losslab.datasets.raw import RawFolderDataset
from losslab.datasets.soft_labels import SoftLabelsDataset

__all__ = [
    "CSVDataset",
    "FigureDataset",
    "FolderDataset",
    "JSONDataset",
    "PageDataset",
    "ParquetDataset",
    "PredictionsDataset",
    "RawFolderDataset",
    "SoftLabelsDataset",
    "SparseMatrixDataset",
    "TensorsDataset",
    "TextDataset",
]
