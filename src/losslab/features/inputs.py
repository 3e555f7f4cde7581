"""Model inputs by batch: embeddings, with TF-IDF or without; token ids padded to the longest; images."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Protocol

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from losslab.parameters import Augmentation

Arrays = Mapping[str, np.ndarray]
MAX_DOCUMENTS, MAX_TOKENS = 256, 2**14
"""The largest batch in inference."""


class Inputs(Protocol):
    """What a model reads of some documents; ``lengths``: tokens per document, else 1."""

    lengths: np.ndarray

    def batch(self, indices: np.ndarray) -> dict[str, Tensor]:
        """The inputs of the documents at ``indices``."""


class Embeddings:
    """One vector per document."""

    def __init__(self, embeddings: np.ndarray, rows: np.ndarray) -> None:
        self._features = torch.from_numpy(embeddings[rows])
        self.lengths = np.ones(len(rows), dtype=np.int64)

    def batch(self, indices: np.ndarray) -> dict[str, Tensor]:
        """``features`` of the documents at ``indices``."""
        return {"features": self._features[torch.from_numpy(indices)]}


class EmbeddingsAndWords(Embeddings):
    """One vector per document, and its weighted words."""

    def __init__(self, embeddings: np.ndarray, words: sparse.csr_array, rows: np.ndarray) -> None:
        super().__init__(embeddings, rows)
        self._words = words[rows]

    def batch(self, indices: np.ndarray) -> dict[str, Tensor]:
        """Besides ``features`` the words of the documents at ``indices``, one after the other."""
        words = self._words[indices]
        return {
            **super().batch(indices),
            "word_ids": torch.from_numpy(words.indices.astype(np.int64)),
            "word_weights": torch.from_numpy(words.data),
            "word_offsets": torch.from_numpy(words.indptr[:-1].astype(np.int64)),
        }


class Tokens:
    """Concatenated token ids, and the offset of each document."""

    def __init__(self, ids: np.ndarray, offsets: np.ndarray, pad: int, rows: np.ndarray) -> None:
        self._ids, self._starts, self._pad = ids, offsets[rows], pad
        self.lengths = offsets[rows + 1] - offsets[rows]

    def batch(self, indices: np.ndarray) -> dict[str, Tensor]:
        """``input_ids`` and ``attention_mask`` of the documents at ``indices``."""
        lengths = self.lengths[indices]
        positions = np.arange(max(int(lengths.max()), 1))
        mask = positions < lengths[:, None]
        ids = np.full(mask.shape, self._pad, dtype=np.int64)
        ids[mask] = self._ids[(self._starts[indices][:, None] + positions)[mask]]
        return {
            "input_ids": torch.from_numpy(ids),
            "attention_mask": torch.from_numpy(mask.astype(np.int64)),
        }


class Images:
    """Pixels of images, read from the mapped array batch by batch.

    With an ``augmentation`` they are changed anew each time, by PyTorch's generator: its state is
    part of a checkpoint.
    """

    def __init__(
        self, pixels: np.ndarray, rows: np.ndarray, augmentation: Augmentation | None = None
    ) -> None:
        self._pixels, self._rows, self._augmentation = pixels, rows, augmentation
        self.lengths = np.ones(len(rows), dtype=np.int64)

    def batch(self, indices: np.ndarray) -> dict[str, Tensor]:
        """``pixels`` of the images at ``indices``: images x height x width x 3, uint8."""
        pixels = torch.from_numpy(self._pixels[self._rows[indices]])
        return {"pixels": augment(pixels, self._augmentation) if self._augmentation else pixels}


def augment(pixels: Tensor, settings: Augmentation) -> Tensor:
    """Each image flipped or not, and shifted by a random crop of it with its edges repeated.

    >>> from losslab.parameters import Augmentation
    >>> image = torch.arange(12, dtype=torch.uint8).view(1, 2, 2, 3)
    >>> augment(image, Augmentation(flip=1, crop=0))[0, 0, 0].tolist()
    [3, 4, 5]
    """
    count, height, width, _ = pixels.shape
    flipped = (torch.rand(count, 1) < settings.flip).expand(-1, width)
    rows = _shifted(count, height, settings.crop)
    columns = _shifted(count, width, settings.crop)
    columns = torch.where(flipped, width - 1 - columns, columns)
    images = torch.arange(count)[:, None, None]
    return pixels[images, rows[:, :, None], columns[:, None, :]]


def _shifted(count: int, size: int, share: float) -> Tensor:
    """Positions along one side, moved by a whole number that is drawn for each image."""
    most = round(share * size)
    shift = torch.randint(-most, most + 1, (count, 1))
    return (torch.arange(size) + shift).clamp(0, size - 1)


def inputs_of(
    features: Arrays, rows: np.ndarray, augmentation: Augmentation | None = None
) -> Inputs:
    """The model inputs of some rows of the corpus; ``augmentation`` is for images in training."""
    if "pixels" in features:
        return Images(features["pixels"], rows, augmentation)
    if "word_ids" in features:
        shape = (len(features["word_offsets"]) - 1, int(features["num_words"][0]))
        parts = (features[f"word_{name}"] for name in ("weights", "ids", "offsets"))
        words = sparse.csr_array(tuple(parts), shape=shape)
        return EmbeddingsAndWords(features["embeddings"], words, rows)
    if "embeddings" in features:
        return Embeddings(features["embeddings"], rows)
    return Tokens(features["ids"], features["offsets"], int(features["pad"][0]), rows)


def scoring_batches(
    lengths: np.ndarray, *, min_size: int = 1, max_tokens: int = MAX_TOKENS
) -> list[np.ndarray]:
    """Document indices by descending length, in batches limited by documents and tokens.

    >>> lengths = np.array([9000, 1, 9000, 1])
    >>> [indices.tolist() for indices in scoring_batches(lengths)]
    [[0], [2], [1, 3]]
    """
    order = np.argsort(-lengths, kind="stable")
    batches, start = [], 0
    while start < len(order):
        longest = max(int(lengths[order[start]]), 1)
        size = max(min_size, min(MAX_DOCUMENTS, max_tokens // longest))
        batches.append(order[start : start + size])
        start += size
    return batches


def ordered_batches(lengths: np.ndarray, size: int) -> list[np.ndarray]:
    """Document indices by descending length, in batches of ``size``."""
    order = np.argsort(-lengths, kind="stable")
    return [order[start : start + size] for start in range(0, len(order), size)]


def do_batches(
    work: Callable[[np.ndarray], None], batches: Sequence[np.ndarray], device: torch.device
) -> Iterator[None]:
    """Do ``work`` with every batch; an item per batch that is done.

    On a CPU each batch is computed by one thread, as many batches at a time as there are threads:
    quicker than all threads on one batch, and the same numbers whatever their number.
    """
    threads = torch.get_num_threads() if device.type == "cpu" else 1
    with ThreadPoolExecutor(threads, initializer=partial(torch.set_num_threads, 1)) as workers:
        yield from workers.map(work, batches)


def default_device() -> torch.device:
    """CUDA if available, else MPS, else CPU."""
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
