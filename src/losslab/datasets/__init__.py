"""Kedro datasets of our own: saved atomically, in formats that cannot hold code."""

from losslab.datasets.files import (
    CSVDataset,
    FigureDataset,
    JSONDataset,
    MappedTensorsDataset,
    PageDataset,
    ParquetDataset,
    PredictedLabelsDataset,
    PredictionsDataset,
    SoftLabelsDataset,
    SparseMatrixDataset,
    TensorsDataset,
    TextDataset,
)
from losslab.datasets.folders import (
    CheckpointsDataset,
    FolderDataset,
    FoldMetricsDataset,
    InputFileDataset,
    RawFolderDataset,
)
from losslab.datasets.provenance import ProvenanceDataset

__all__ = [
    "CSVDataset",
    "CheckpointsDataset",
    "FigureDataset",
    "FoldMetricsDataset",
    "FolderDataset",
    "InputFileDataset",
    "JSONDataset",
    "MappedTensorsDataset",
    "PageDataset",
    "ParquetDataset",
    "PredictedLabelsDataset",
    "PredictionsDataset",
    "ProvenanceDataset",
    "RawFolderDataset",
    "SoftLabelsDataset",
    "SparseMatrixDataset",
    "TensorsDataset",
    "TextDataset",
]
