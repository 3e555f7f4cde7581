"""Numbers in bulk: named tensors as safetensors, sparse matrices as NPZ; neither can hold code."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from losslab.datasets.atomic import AtomicSave, FileDataset

if TYPE_CHECKING:
    from losslab.evaluation import Predictions


class _TensorsFile(FileDataset[dict[str, np.ndarray]]):
    def read(self, path: Path) -> dict[str, np.ndarray]:
        from safetensors.numpy import load_file

        return load_file(path)

    def write(self, path: Path, data: dict[str, np.ndarray]) -> None:
        from safetensors.numpy import save_file

        save_file({name: np.ascontiguousarray(array) for name, array in data.items()}, path)


class _SparseMatrixFile(FileDataset[sparse.csr_array]):
    def read(self, path: Path) -> sparse.csr_array:
        return sparse.csr_array(sparse.load_npz(path))

    def write(self, path: Path, data: sparse.csr_array) -> None:
        with path.open("wb") as file:
            sparse.save_npz(file, data)


class TensorsDataset(AtomicSave, _TensorsFile):
    """Arrays by name."""


class SparseMatrixDataset(AtomicSave, _SparseMatrixFile):
    """A sparse matrix in compressed rows."""


class _PredictionsFile(FileDataset["Predictions"]):
    def read(self, path: Path) -> "Predictions":
        from safetensors.numpy import load_file

        from losslab.evaluation import Predictions

        return Predictions.from_arrays(load_file(path))

    def write(self, path: Path, data: "Predictions") -> None:
        from safetensors.numpy import save_file

        save_file(data.to_arrays(), path)


class PredictionsDataset(AtomicSave, _PredictionsFile):
    """Predicted labels by split, rule and seed."""
