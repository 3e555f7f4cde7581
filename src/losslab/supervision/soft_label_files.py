"""Soft labels as a file: the matrices they are made from, in one safetensors file."""

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from losslab.supervision.soft_labels import SoftLabels

PARTS = ("data", "indices", "indptr")


def save_soft_labels(soft: SoftLabels, path: Path) -> None:
    """Write what ``soft`` is made from."""
    from safetensors.numpy import save_file

    arrays = {"settings": np.array([soft.softmax, soft.floor], dtype=np.float64)}
    arrays |= _part("documents", soft.documents) | _part("words", soft.words)
    if soft.rows is not None:
        arrays["rows"] = soft.rows
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path)


def load_soft_labels(path: Path) -> SoftLabels:
    """What ``save_soft_labels`` wrote."""
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
