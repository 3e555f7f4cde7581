"""Kedro datasets of our own: saved atomically, in formats that cannot hold code."""

from losslab.datasets.files import (
    CSVDataset,
    FigureDataset,
    JSONDataset,
    PageDataset,
    ParquetDataset,
    PredictionsDataset,
    SoftLabelsDataset,
    SparseMatrixDataset,
    TensorsDataset,
    TextDataset,
)
from losslab.datasets.folders import FolderDataset, RawFolderDataset

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
