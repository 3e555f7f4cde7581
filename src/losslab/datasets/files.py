"""Datasets of one file, saved atomically: tables, JSON, figures, arrays, soft labels, pages.

None of the formats can hold code.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from kedro_datasets import json, pandas, plotly
from kedro_datasets._typing import TablePreview
from pandas import DataFrame, read_csv
from scipy import sparse

from losslab.data.csv_cells import TEXTS_IN_QUOTES, quote_formulas, unquote_formulas
from losslab.datasets.checked import Checked, FileDataset
from losslab.datasets.mapped import map_tensors, write_tensors
from losslab.supervision import SoftLabels, load_soft_labels, save_soft_labels

if TYPE_CHECKING:
    from losslab.evaluation import Predictions


class JSONDataset(Checked, json.JSONDataset):
    """Statistics, thresholds and metrics as JSON."""


class ParquetDataset(Checked, pandas.ParquetDataset):
    """Tables as Parquet."""

    def preview(self, nrows: int = 5) -> TablePreview:
        """The first rows, for Kedro-Viz; the base class reads the whole file."""
        from pyarrow.parquet import ParquetFile

        with ParquetFile(str(self._get_load_path())) as file:
            first = next(file.iter_batches(batch_size=nrows), file.schema_arrow.empty_table())
        return TablePreview(first.to_pandas().to_dict(orient="split"))


class CSVDataset(Checked, pandas.CSVDataset):
    """Tables for people as CSV; no cell is a formula to a spreadsheet."""

    DEFAULT_SAVE_ARGS = pandas.CSVDataset.DEFAULT_SAVE_ARGS | TEXTS_IN_QUOTES

    def save(self, data: DataFrame) -> None:
        """Save with a quote before formulas."""
        super().save(quote_formulas(data))

    def load(self) -> DataFrame:
        """Load without the quotes."""
        return unquote_formulas(super().load())


class FigureDataset(Checked, plotly.JSONDataset):
    """Plotly figures as JSON, previewed by Kedro-Viz."""


class _TensorsFile(FileDataset[dict[str, np.ndarray]]):
    def read(self, path: Path) -> dict[str, np.ndarray]:
        from safetensors.numpy import load_file

        return load_file(path)

    def write(self, path: Path, data: dict[str, np.ndarray]) -> None:
        from safetensors.numpy import save_file

        save_file({name: np.ascontiguousarray(array) for name, array in data.items()}, path)


class TensorsDataset(Checked, _TensorsFile):
    """Named arrays as safetensors."""


class _MappedTensorsFile(FileDataset[dict[str, Any]]):
    def read(self, path: Path) -> dict[str, Any]:
        return map_tensors(path)

    def write(self, path: Path, data: dict[str, Any]) -> None:
        write_tensors(path, data)


class MappedTensorsDataset(Checked, _MappedTensorsFile):
    """Named arrays as safetensors, mapped into memory when loaded: processes share them.

    What is saved may be ``ArrayBlocks`` in place of an array: blocks are written one after the other.
    """


class _SparseMatrixFile(FileDataset[sparse.csr_array]):
    def read(self, path: Path) -> sparse.csr_array:
        return sparse.csr_array(sparse.load_npz(path))

    def write(self, path: Path, data: sparse.csr_array) -> None:
        with path.open("wb") as file:
            sparse.save_npz(file, data)


class SparseMatrixDataset(Checked, _SparseMatrixFile):
    """A CSR matrix as NPZ."""


class _PredictionsFile(FileDataset["Predictions"]):
    def read(self, path: Path) -> "Predictions":
        from safetensors.numpy import load_file

        from losslab.evaluation import Predictions

        return Predictions.from_arrays(load_file(path))

    def write(self, path: Path, data: "Predictions") -> None:
        from safetensors.numpy import save_file

        save_file(data.to_arrays(), path)


class PredictionsDataset(Checked, _PredictionsFile):
    """Predicted labels by split, decision rule and seed, as safetensors."""


class _PredictedLabelsFile(FileDataset[Any]):
    def read(self, path: Path) -> DataFrame:
        return unquote_formulas(read_csv(path, dtype=str, keep_default_na=False))

    def write(self, path: Path, data: Any) -> None:
        from losslab.inference.text_files import write_labels

        write_labels(path, data, explained=data.explain)


class PredictedLabelsDataset(Checked, _PredictedLabelsFile):
    """Labels of new texts as CSV, written while they are made (``LabelledRows``)."""


class _SoftLabelsFile(FileDataset[SoftLabels]):
    def read(self, path: Path) -> SoftLabels:
        return load_soft_labels(path)

    def write(self, path: Path, data: SoftLabels) -> None:
        save_soft_labels(data, path)


class SoftLabelsDataset(Checked, _SoftLabelsFile):
    """Soft labels as the factors they are computed from."""


class _TextFile(FileDataset[str]):
    def read(self, path: Path) -> str:
        return path.read_text(encoding="utf-8")

    def write(self, path: Path, data: str) -> None:
        path.write_text(data, encoding="utf-8")


class TextDataset(Checked, _TextFile):
    """A text in UTF-8."""


class PageDataset(Checked, _TextFile):
    """An HTML page; ``latest`` is the name of the link to its newest version."""

    def __init__(self, *, latest: str = "latest.html", **options: Any) -> None:
        super().__init__(**options)
        self._latest = latest

    @property
    def latest(self) -> Path:
        """Stable path of the newest version; without versions, of the file itself."""
        path = Path(self._filepath)
        return path.with_name(self._latest) if self._version else path
