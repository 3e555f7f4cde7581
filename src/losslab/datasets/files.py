"""The files of kedro-datasets, saved atomically: tables, JSON, figures."""

from kedro_datasets import json, pandas, plotly
from kedro_datasets._typing import TablePreview

from losslab.datasets.atomic import AtomicSave


class JSONDataset(AtomicSave, json.JSONDataset):
    """Statistics, thresholds and metrics as JSON."""


class ParquetDataset(AtomicSave, pandas.ParquetDataset):
    """Tables as Parquet."""

    def preview(self, nrows: int = 5) -> TablePreview:
        """The first rows for Kedro-Viz; the class of kedro-datasets would read all of them."""
        from pyarrow.parquet import ParquetFile

        with ParquetFile(str(self._get_load_path())) as file:
            first = next(file.iter_batches(batch_size=nrows), file.schema_arrow.empty_table())
        return TablePreview(first.to_pandas().to_dict(orient="split"))


class CSVDataset(AtomicSave, pandas.CSVDataset):
    """Tables for people as CSV."""


class FigureDataset(AtomicSave, plotly.JSONDataset):
    """Plotly figures as JSON, previewed by Kedro-Viz."""
