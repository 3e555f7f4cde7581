"""Soft labels of documents, computed on demand from their factors, and their file format.

Documents x labels takes 16 GB for 225,000 documents and 18,211 labels, so it is never stored.
``SoftLabels`` stores documents x words and words x labels and multiplies the rows of a batch.
"""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from losslab.errors import SupervisionError

DENSE_SHARE = 1 / 8
"""Words relevant to more than this share of the labels are dense rows: the fastest threshold of
those measured in ``benchmarks/soft_labels.py``."""
DENSE_BYTES = 2**30
"""Memory limit of the dense rows."""
CSR_PARTS = ("data", "indices", "indptr")


@dataclass(frozen=True)
class SoftLabels:
    """Soft labels of ``len(soft_labels)`` documents; call with row numbers for rows x labels.

    ``scale * p + floor + offset[rows]`` with ``p = documents[rows] @ words``, after softmax if
    ``softmax``. Without ``words``, p is ``documents[rows]`` (sparse or dense, documents x labels).
    Without an ``offset`` it is a distribution over labels, with one a soft target per label.

    Attributes:
        documents: documents x words, or documents x labels.
        words: words x labels.
        softmax: apply softmax over labels.
        floor: added to every entry.
        rows: row numbers of the documents in the corpus, ascending; None: 0, 1, 2, ...
        scale: factor of p.
        offset: documents x labels, sparse.
    """

    documents: Any
    words: sparse.csr_array | None = None
    softmax: bool = True
    floor: float = 0.0
    rows: np.ndarray | None = None
    scale: float = 1.0
    offset: sparse.csr_array | None = None

    def __len__(self) -> int:
        return int(self.documents.shape[0])

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Soft labels of the given documents, rows x labels."""
        block = self.relevance(rows)
        as_dtype = block.dtype.type
        block = softmax(block) if self.softmax else block
        if self.scale != 1:
            block = block * as_dtype(self.scale)
        block = np.asarray(block + as_dtype(self.floor))
        if self.offset is not None:
            block += self.offset[self._indices(rows)].toarray()
        return block

    @property
    def labels(self) -> int:
        """Number of labels."""
        return int((self.documents if self.words is None else self.words).shape[1])

    def document(self, row: int) -> Any:
        """Factor of one document: 1 x words, or 1 x labels without ``words``."""
        return self.documents[self._indices(np.array([row]))]

    def relevance(self, rows: np.ndarray) -> np.ndarray:
        """``documents[rows] @ words``, rows x labels."""
        rows = self._indices(rows)
        if self.words is None:
            block = self.documents[rows]
            return np.asarray(block.toarray() if sparse.issparse(block) else block)
        common, dense, rare, thin = self._parts
        block = np.asarray(common[rows] @ dense)
        block += (rare[rows] @ thin).toarray()
        return block

    def blocks(self, size: int, *, workers: int = 1) -> Iterator[np.ndarray]:
        """All documents in order, ``size`` at a time, computed ahead by ``workers`` threads."""
        if self.words is not None:
            _ = self._parts  # once, before the threads start
        rows = np.arange(len(self)) if self.rows is None else self.rows
        with ThreadPoolExecutor(workers) as pool:
            ahead: deque[Any] = deque()
            for start in range(0, len(self), size):
                ahead.append(pool.submit(self, rows[start : start + size]))
                if len(ahead) > workers:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()

    def _indices(self, rows: np.ndarray) -> np.ndarray:
        """Positions of corpus rows in ``documents``."""
        if self.rows is None:
            return rows
        indices = np.searchsorted(self.rows, rows)
        unknown = self.rows.take(indices, mode="clip") != rows
        if unknown.any():
            raise SupervisionError(
                f"no soft labels for row {np.asarray(rows)[unknown][0]}: only the {len(self)} "
                "training documents have soft labels"
            )
        return indices

    @cached_property
    def _parts(self) -> tuple[sparse.csr_array, np.ndarray, sparse.csr_array, sparse.csr_array]:
        """Both factors split into words relevant to many labels (dense) and the others (sparse)."""
        matrix = sparse.csr_array(self.words)
        entries, labels = np.diff(matrix.indptr), matrix.shape[1]
        room = DENSE_BYTES // max(labels * matrix.dtype.itemsize, 1)
        order = np.argsort(-entries, kind="stable")[:room]
        common = np.sort(order[entries[order] > DENSE_SHARE * labels])
        rare = np.setdiff1d(np.arange(len(entries)), common)
        documents = sparse.csr_array(self.documents)
        return (
            sparse.csr_array(documents[:, common]),
            matrix[common].toarray(),
            sparse.csr_array(documents[:, rare]),
            sparse.csr_array(matrix[rare]),
        )


def softmax(relevance: np.ndarray) -> np.ndarray:
    """Softmax of each row.

    >>> softmax(np.zeros((1, 4))).tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """
    powers = np.exp(relevance - relevance.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def save_soft_labels(soft: SoftLabels, path: Path) -> None:
    """Write the factors of ``soft`` to a safetensors file."""
    from safetensors.numpy import save_file

    arrays = {"settings": np.array([soft.softmax, soft.floor, soft.scale], dtype=np.float64)}
    for name in ("documents", "words", "offset"):
        arrays |= _to_arrays(name, getattr(soft, name))
    if soft.rows is not None:
        arrays["rows"] = soft.rows
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path)


def load_soft_labels(path: Path) -> SoftLabels:
    """Read a file of ``save_soft_labels``."""
    from safetensors.numpy import load_file

    arrays = load_file(path)
    use_softmax, floor, scale = arrays["settings"].tolist()
    return SoftLabels(
        _from_arrays("documents", arrays),
        _from_arrays("words", arrays),
        softmax=bool(use_softmax),
        floor=floor,
        rows=arrays.get("rows"),
        scale=scale,
        offset=_from_arrays("offset", arrays),
    )


def _to_arrays(name: str, matrix: Any) -> dict[str, np.ndarray]:
    """A dense matrix as one array, a sparse one as its CSR parts, None as no array."""
    if matrix is None:
        return {}
    if not sparse.issparse(matrix):
        return {name: matrix}
    arrays = {f"{name}.{part}": getattr(matrix, part) for part in CSR_PARTS}
    return {**arrays, f"{name}.shape": np.array(matrix.shape)}


def _from_arrays(name: str, arrays: dict[str, np.ndarray]) -> Any:
    if f"{name}.shape" not in arrays:
        return arrays.get(name)
    parts = tuple(arrays[f"{name}.{part}"] for part in CSR_PARTS)
    return sparse.csr_array(parts, shape=tuple(arrays[f"{name}.shape"]))
