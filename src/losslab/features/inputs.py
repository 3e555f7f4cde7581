"""What a model reads: embeddings, or token ids padded to the longest text of a batch."""

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

Arrays = Mapping[str, np.ndarray]
SCORED_AT_ONCE = 256, 2**14  # documents and tokens, at most


class Embeddings:
    """A vector per document."""

    def __init__(self, embeddings: np.ndarray, rows: np.ndarray) -> None:
        self._features = torch.from_numpy(embeddings[rows])
        self.lengths = np.ones(len(rows), dtype=np.int64)

    def batch(self, places: np.ndarray) -> dict[str, Tensor]:
        """``features`` of the documents at ``places``."""
        return {"features": self._features[torch.from_numpy(places)]}


class Tokens:
    """Token ids of all documents end to end, and where each begins."""

    def __init__(self, ids: np.ndarray, offsets: np.ndarray, pad: int, rows: np.ndarray) -> None:
        self._ids, self._starts, self._pad = ids, offsets[rows], pad
        self.lengths = offsets[rows + 1] - offsets[rows]

    def batch(self, places: np.ndarray) -> dict[str, Tensor]:
        """``input_ids`` and ``attention_mask`` of the documents at ``places``."""
        lengths = self.lengths[places]
        within = np.arange(max(int(lengths.max()), 1))
        mask = within < lengths[:, None]
        ids = np.full(mask.shape, self._pad, dtype=np.int64)
        ids[mask] = self._ids[(self._starts[places][:, None] + within)[mask]]
        return {
            "input_ids": torch.from_numpy(ids),
            "attention_mask": torch.from_numpy(mask.astype(np.int64)),
        }


def inputs_of(features: Arrays, rows: np.ndarray) -> Embeddings | Tokens:
    """The inputs of the chosen rows."""
    if "embeddings" in features:
        return Embeddings(features["embeddings"], rows)
    return Tokens(features["ids"], features["offsets"], int(features["pad"][0]), rows)


def scoring_batches(lengths: np.ndarray, *, at_least: int = 1) -> list[np.ndarray]:
    """Places from the longest document to the shortest, so many at once that memory suffices.

    >>> lengths = np.array([9000, 1, 9000, 1])
    >>> [list(map(int, places)) for places in scoring_batches(lengths)]
    [[0], [2], [1, 3]]
    """
    order = np.argsort(-lengths, kind="stable")
    most, tokens = SCORED_AT_ONCE
    batches, start = [], 0
    while start < len(order):
        longest = max(int(lengths[order[start]]), 1)
        size = max(at_least, min(most, tokens // longest))
        batches.append(order[start : start + size])
        start += size
    return batches


def ordered_batches(lengths: np.ndarray, size: int) -> list[np.ndarray]:
    """Places from the longest document to the shortest, in batches of ``size``."""
    order = np.argsort(-lengths, kind="stable")
    return [order[start : start + size] for start in range(0, len(order), size)]
