"""The files of kedro-datasets, saved atomically: tables, JSON, figures."""

import logging
from pathlib import PurePosixPath
from typing import Any

from kedro.io.core import get_filepath_str
from kedro_datasets import json, pandas, plotly
from kedro_datasets._typing import TablePreview

from losslab.datasets.atomic import AtomicSave

logger = logging.getLogger(__name__)
PAPER_DPI = 200
"""Points per inch of pictures that journals print."""


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
    """Plotly figures as JSON, drawn by Kedro-Viz, each with a PNG beside it for papers."""

    def save(self, data: Any) -> None:
        """Save the figure, then its picture; one that cannot be drawn is missing, with a warning."""
        path = self._get_save_path().with_suffix(".png")
        super().save(data)
        try:
            self._save_picture(data, path)
        except Exception as error:  # noqa: BLE001 - trainings must not end for a picture
            logger.warning("%s could not be drawn: %s", path, error)

    def _save_picture(self, figure: Any, path: PurePosixPath) -> None:
        from losslab.reporting.png import to_png

        picture = to_png(figure, dpi=PAPER_DPI)
        part, final = (
            get_filepath_str(file, self._protocol)
            for file in (path.with_name(f".{path.name}.part"), path)
        )
        with self._fs.open(part, "wb") as file:
            file.write(picture)
        self._fs.mv(part, final)
