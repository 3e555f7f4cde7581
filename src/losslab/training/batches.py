"""Splits as batches: documents of similar length share a batch, padded to its longest."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from losslab.features.inputs import Arrays, inputs_of
from losslab.parameters import Augmentation

Column: TypeAlias = np.ndarray | sparse.csr_array | Callable[[np.ndarray], np.ndarray]
MAX_DENSE_BYTES = 2**27
"""Matrices up to this size are made dense once instead of batch by batch."""
ROWS_AT_A_TIME = 1024
BATCHES_PER_BUCKET = 50


class SplitDataset:
    """Documents of one split: model inputs, targets, and the context some losses need.

    Args:
        features: ``embeddings`` (documents x dim), beside them the rows of a sparse TF-IDF matrix
            where a hybrid reads them; concatenated token ``ids`` with ``offsets`` (documents + 1)
            and the ``pad`` id; or ``pixels`` of images.
        targets: documents x labels.
        rows: the rows of the split; every other array covers the whole corpus.
        context: by name, documents x labels as an array, a sparse matrix, or a function from rows
            to an array.
        ids: the documents' names, for messages.
        augmentation: of images in training.
    """

    def __init__(
        self,
        features: Arrays,
        targets: Column,
        rows: np.ndarray,
        *,
        context: Mapping[str, Column] | None = None,
        ids: np.ndarray | None = None,
        augmentation: Augmentation | None = None,
    ) -> None:
        self.rows = np.asarray(rows)
        self._inputs = inputs_of(features, self.rows, augmentation)
        self.targets = _RowMatrix(targets, self.rows)
        self._context = {
            name: _RowMatrix(column, self.rows) for name, column in (context or {}).items()
        }
        self.ids = self.rows if ids is None else np.asarray(ids)[self.rows]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def lengths(self) -> np.ndarray:
        """Tokens per document; 1 for embeddings and images."""
        return self._inputs.lengths

    def inputs(self, indices: np.ndarray) -> dict[str, Tensor]:
        """Model inputs of the documents at ``indices`` of the split."""
        return self._inputs.batch(indices)

    def batch(self, indices: np.ndarray) -> dict[str, Any]:
        """Inputs, targets and context of the documents at ``indices`` of the split."""
        return {
            "inputs": self.inputs(indices),
            "targets": self.targets.tensor(indices),
            "context": {name: column.tensor(indices) for name, column in self._context.items()},
        }


class _RowMatrix:
    """Rows of a documents x labels matrix; a large one is made dense batch by batch."""

    def __init__(self, column: Column, rows: np.ndarray) -> None:
        self._rows, self._column = rows, column
        if sparse.issparse(column):
            self._rows, self._column = np.arange(len(rows)), sparse.csr_array(column)[rows]
        if not isinstance(self._column, np.ndarray) and self._is_small():
            parts = np.split(np.arange(len(rows)), range(ROWS_AT_A_TIME, len(rows), ROWS_AT_A_TIME))
            dense = [np.asarray(self.dense(part), dtype=np.float32) for part in parts]
            self._rows, self._column = np.arange(len(rows)), np.concatenate(dense)

    def _is_small(self) -> bool:
        return bool(len(self._rows) * self.dense(slice(1)).shape[1] * 4 <= MAX_DENSE_BYTES)

    def tensor(self, indices: np.ndarray) -> Tensor:
        """Some rows as a float32 tensor."""
        return torch.from_numpy(np.asarray(self.dense(indices), dtype=np.float32))

    def matrix(self) -> Any:
        """All rows; a large sparse matrix stays sparse."""
        return self._column if sparse.issparse(self._column) else self.dense()

    def dense(self, indices: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Some rows as an array."""
        rows = self._rows[indices]
        block: Any = self._column(rows) if callable(self._column) else self._column[rows]
        return block.toarray() if sparse.issparse(block) else np.asarray(block)


def shuffled_batches(
    lengths: np.ndarray, size: int, *, random: np.random.Generator
) -> list[np.ndarray]:
    """Bucketed random batches of ``size`` indices or a few more; each index appears once.

    Documents are shuffled, cut into buckets of fifty batches, sorted by length within each, and the
    batches shuffled: little padding, and no two epochs alike.

    >>> batches = shuffled_batches(np.ones(7, int), 3, random=np.random.default_rng(0))
    >>> sorted(map(len, batches))
    [3, 4]
    """
    order = random.permutation(len(lengths))
    batches: list[np.ndarray] = []
    for bucket in _buckets(order, size):
        ranked = bucket[np.argsort(lengths[bucket], kind="stable")]
        batches += np.array_split(ranked, max(1, len(ranked) // size))
    return [batches[index] for index in random.permutation(len(batches))]


def count_batches(documents: int, size: int) -> int:
    """The number of ``shuffled_batches`` of so many documents.

    >>> count_batches(7, 3)
    2
    """
    buckets = _buckets(np.arange(documents), size)
    return sum(max(1, len(bucket) // size) for bucket in buckets)


def _buckets(order: np.ndarray, size: int) -> list[np.ndarray]:
    return np.array_split(order, max(1, len(order) // (size * BATCHES_PER_BUCKET)))
