"""From documents to batches: rows of similar length together, padded to the longest of them."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from losslab.features.inputs import Arrays, inputs_of

Column = np.ndarray | sparse.csr_array | Callable[[np.ndarray], np.ndarray]
SMALL = 2**27  # bytes: matrices below this are made dense once instead of batch by batch
BATCHES_SORTED_TOGETHER = 50


class SplitDataset:
    """Documents of one split: what the model reads, their targets, and what a loss needs besides.

    Args:
        features: ``embeddings`` (documents x width), or token ``ids`` end to end with ``offsets``
            (documents + 1) and ``pad``, the token that fills up.
        targets: documents x labels.
        rows: the rows of the split; every other array covers the whole corpus.
        context: by name, documents x labels as an array, a sparse matrix, or a function from rows
            to an array.
        ids: the documents' names, for messages.
    """

    def __init__(
        self,
        features: Arrays,
        targets: Column,
        rows: np.ndarray,
        *,
        context: Mapping[str, Column] | None = None,
        ids: np.ndarray | None = None,
    ) -> None:
        self.rows = np.asarray(rows)
        self._inputs = inputs_of(features, self.rows)
        self.targets = _Rows(targets, self.rows)
        self._context = {name: _Rows(column, self.rows) for name, column in (context or {}).items()}
        self.ids = self.rows if ids is None else np.asarray(ids)[self.rows]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def lengths(self) -> np.ndarray:
        """How much there is to read in each document."""
        return self._inputs.lengths

    def inputs(self, places: np.ndarray) -> dict[str, Tensor]:
        """What the model reads of the documents at ``places``."""
        return self._inputs.batch(places)

    def batch(self, places: np.ndarray) -> dict[str, Any]:
        """Inputs, targets and context of the documents at ``places``."""
        return {
            "inputs": self.inputs(places),
            "targets": self.targets.tensor(places),
            "context": {name: column.tensor(places) for name, column in self._context.items()},
        }


class _Rows:
    """Rows of a documents x labels matrix as float tensors, dense only in a batch if it is large."""

    def __init__(self, column: Column, rows: np.ndarray) -> None:
        self._rows, self._column = rows, column
        if sparse.issparse(column):
            own = sparse.csr_array(column)[rows]
            small = own.shape[0] * own.shape[1] * 4 <= SMALL
            self._rows, self._column = np.arange(len(rows)), own.toarray() if small else own
            if small:
                self._column = self._column.astype(np.float32)

    def tensor(self, places: np.ndarray) -> Tensor:
        block = self.dense(places)
        return torch.from_numpy(np.asarray(block, dtype=np.float32))

    def matrix(self) -> Any:
        """All rows; sparse where they are kept so."""
        return self._column if sparse.issparse(self._column) else self.dense()

    def dense(self, places: np.ndarray | slice = slice(None)) -> np.ndarray:
        chosen = self._rows[places]
        block = self._column(chosen) if callable(self._column) else self._column[chosen]
        return block.toarray() if sparse.issparse(block) else np.asarray(block)


def shuffled_batches(
    lengths: np.ndarray, size: int, *, random: np.random.Generator
) -> list[np.ndarray]:
    """Places in batches of ``size`` or a little more: each once, in random company of its length.

    Documents are shuffled, every fifty batches' worth of them sorted by length and cut, and the
    batches shuffled: little padding, and no two epochs alike.

    >>> batches = shuffled_batches(np.ones(7, int), 3, random=np.random.default_rng(0))
    >>> sorted(map(len, batches))
    [3, 4]
    """
    order = random.permutation(len(lengths))
    batches = []
    for part in np.array_split(order, max(1, len(order) // (size * BATCHES_SORTED_TOGETHER))):
        ranked = part[np.argsort(lengths[part], kind="stable")]
        batches += np.array_split(ranked, max(1, len(ranked) // size))
    return [batches[place] for place in random.permutation(len(batches))]
