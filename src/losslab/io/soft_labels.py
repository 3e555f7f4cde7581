"""Soft labels on disk: the matrices they are made from, in one safetensors file."""

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from losslab.io.atomic import AtomicSave, FileDataset
from losslab.targets import SoftLabels

PARTS = ("data", "indices", "indptr")


class _SoftLabelsFile(FileDataset[SoftLabels]):
    def read(self, path: Path) -> SoftLabels:
        from safetensors.numpy import load_file

        arrays = load_file(path)
        settings, rows = arrays["settings"], arrays.get("rows")
        return SoftLabels(
            _join("documents", arrays),
            _join("words", arrays),
            softmax=bool(settings[0]),
            floor=float(settings[1]),
            rows=rows,
        )

    def write(self, path: Path, data: SoftLabels) -> None:
        from safetensors.numpy import save_file

        arrays = {"settings": np.array([data.softmax, data.floor], dtype=np.float64)}
        arrays |= _part("documents", data.documents) | _part("words", data.words)
        if data.rows is not None:
            arrays["rows"] = data.rows
        save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path)


class SoftLabelsDataset(AtomicSave, _SoftLabelsFile):
    """Soft labels, made from their factors when rows are asked for."""


def _part(name: str, matrix: Any) -> dict[str, np.ndarray]:
    """A matrix as arrays: a dense one as it is, a sparse one in its parts, none as nothing."""
    if matrix is None:
        return {}
    if not sparse.issparse(matrix):
        return {name: matrix}
    arrays = {f"{name}.{part}": getattr(matrix, part) for part in PARTS}
    return {**arrays, f"{name}.shape": np.array(matrix.shape)}


def _join(name: str, arrays: dict[str, np.ndarray]) -> Any:
    if f"{name}.shape" not in arrays:
        return arrays.get(name)
    parts = tuple(arrays[f"{name}.{part}"] for part in PARTS)
    return sparse.csr_array(parts, shape=tuple(arrays[f"{name}.shape"]))
