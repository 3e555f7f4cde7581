"""The files of kedro-datasets, saved atomically: tables, JSON, figures."""

from kedro_datasets import json, pandas, plotly

from losslab.io.atomic import AtomicSave


class JSONDataset(AtomicSave, json.JSONDataset):
    """Statistics, thresholds and metrics as JSON."""


class ParquetDataset(AtomicSave, pandas.ParquetDataset):
    """Tables as Parquet."""


class CSVDataset(AtomicSave, pandas.CSVDataset):
    """Tables for people as CSV."""


class FigureDataset(AtomicSave, plotly.JSONDataset):
    """Plotly figures as JSON, drawn by Kedro-Viz."""
