"""Images of a corpus as arrays, and their embeddings by a frozen encoder; in bounded memory."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from tqdm import tqdm

from losslab.data.images import ImageFault, ImageFile, load_image
from losslab.errors import CorpusError
from losslab.parameters import FrozenImageEncoder

BLOCK = 256
"""Images decoded at a time."""


@dataclass(frozen=True)
class ArrayBlocks:
    """An array that is made block by block when it is saved: memory need not hold all of it."""

    shape: tuple[int, ...]
    dtype: np.dtype
    make: Callable[[], Iterator[np.ndarray]]

    def to_array(self) -> np.ndarray:
        """The whole array, in memory."""
        return np.concatenate([np.empty((0, *self.shape[1:]), self.dtype), *self.make()])


def image_array(folder: Path, images: Sequence[ImageFile], size: tuple[int, int]) -> ArrayBlocks:
    """All images, resized: images x height x width x 3, uint8."""
    make = partial(decode_blocks, folder, images, size)
    return ArrayBlocks((len(images), *size, 3), np.dtype(np.uint8), make)


def decode_blocks(
    folder: Path, images: Sequence[ImageFile], size: tuple[int, int]
) -> Iterator[np.ndarray]:
    """Images in their order, ``BLOCK`` at a time; each is decoded by one thread."""
    starts = range(0, len(images), BLOCK)
    with ThreadPoolExecutor() as workers:
        for start in tqdm(starts, "decoding", unit="block", disable=None, leave=False):
            block = images[start : start + BLOCK]
            yield np.stack(list(workers.map(partial(_load, folder, size=size), block)))


def embed_images(
    folder: Path, images: Sequence[ImageFile], settings: FrozenImageEncoder, *, batch_size: int = 32
) -> np.ndarray:
    """L2-normalized embeddings of the frozen encoder: images x dim, float32.

    On a CPU each batch is decoded and embedded by one thread, as many batches at a time as there are
    threads: no more images than that are in memory, and numbers do not depend on their number.
    """
    import torch

    from losslab.features.image_encoder import load_image_encoder
    from losslab.features.inputs import default_device

    device = default_device()
    encoder = load_image_encoder(settings.backbone).eval().to(device)
    batches = [images[start : start + batch_size] for start in range(0, len(images), batch_size)]

    def embed(batch: Sequence[ImageFile]) -> np.ndarray:
        pixels = np.stack([_load(folder, image, size=settings.image_size) for image in batch])
        with torch.inference_mode():
            embedded = encoder(torch.from_numpy(pixels).to(device)).float()
        return torch.nn.functional.normalize(embedded, dim=1).cpu().numpy()

    threads = torch.get_num_threads() if device.type == "cpu" else 1
    with ThreadPoolExecutor(threads, initializer=partial(torch.set_num_threads, 1)) as workers:
        done = workers.map(embed, batches)
        return np.concatenate(
            list(tqdm(done, "embedding", len(batches), unit="batch", disable=None, leave=False))
        )


def _load(folder: Path, image: ImageFile, *, size: tuple[int, int]) -> np.ndarray:
    try:
        return load_image(folder, image, size)
    except ImageFault as fault:
        raise CorpusError(
            f"{folder / image.path}: {fault}; read the corpus again: kedro run --fresh"
        ) from None
