"""Images a second of the feature stage, beside a plain loop of one image at a time, in one run.

Made-up JPEGs of 600 x 400 pixels, decoded to arrays of ``cnn`` and embedded as for ``image_probe``:
``python benchmarks/images.py``. The loop uses Pillow and the same encoder as one would by hand. Both are
measured in turns and the best of each is kept, since a shared machine's time says little.
"""

import argparse
import os
import resource
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import torch
from PIL import Image

from losslab.data.images import ImageFile, find_image
from losslab.features.image_encoder import ImageEncoder, load_image_encoder
from losslab.features.pixels import embed_images, image_array
from losslab.parameters import FrozenImageEncoder

SIZE, ENCODED = (48, 32), (160, 112)
HEIGHT, WIDTH = 600, 400


def make_images(folder: Path, count: int) -> list[ImageFile]:
    """JPEGs with the detail of a photo."""
    random = np.random.default_rng(0)
    for number in range(count):
        small = random.integers(0, 256, (HEIGHT // 8, WIDTH // 8, 3)).astype(np.uint8)
        picture = Image.fromarray(small).resize((WIDTH, HEIGHT), Image.Resampling.BICUBIC)
        buffer = BytesIO()
        picture.save(buffer, "JPEG", quality=85)
        (folder / f"{number}.jpg").write_bytes(buffer.getvalue())
    return [find_image(folder, f"{number}.jpg") for number in range(count)]


def decode_one_by_one(folder: Path, images: list[ImageFile], size: tuple[int, int]) -> np.ndarray:
    height, width = size
    decoded = []
    for image in images:
        with Image.open(folder / image.path) as opened:
            decoded.append(np.asarray(opened.convert("RGB").resize((width, height))))
    return np.stack(decoded)


def embed_one_by_one(encoder: ImageEncoder, folder: Path, images: list[ImageFile]) -> np.ndarray:
    rows = []
    for image in images:
        pixels = torch.from_numpy(decode_one_by_one(folder, [image], ENCODED))
        with torch.inference_mode():
            rows.append(torch.nn.functional.normalize(encoder(pixels), dim=1).numpy()[0])
    return np.stack(rows)


def seconds(work: Callable[[], object]) -> float:
    start = perf_counter()
    work()
    return perf_counter() - start


def compare(
    name: str, count: int, rounds: int, stage: Callable[[], object], loop: Callable[[], object]
) -> None:
    """Print images a second of both, the best of some rounds in turns."""
    times = [(seconds(stage), seconds(loop)) for _ in range(rounds)]
    staged, looped = (count / min(column) for column in zip(*times, strict=True))
    print(f"| {name} | {staged:,.0f} | {looped:,.0f} | {staged / looped:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=512)
    parser.add_argument("--embedded", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    settings = FrozenImageEncoder(backbone="efficientnet_lite0", image_size=ENCODED)
    encoder = load_image_encoder("efficientnet_lite0").eval()
    print(
        f"{os.cpu_count()} cores, {torch.get_num_threads()} threads, images of {HEIGHT} x {WIDTH}\n"
    )
    print("| | images/s of the stage | of a plain loop | ratio |\n|---|---|---|---|")
    with TemporaryDirectory() as name:
        folder = Path(name)
        images = make_images(folder, options.images)
        some = images[: options.embedded]
        compare(
            "decode",
            len(images),
            options.rounds,
            lambda: image_array(folder, images, SIZE).to_array(),
            lambda: decode_one_by_one(folder, images, SIZE),
        )
        compare(
            "decode and embed",
            len(some),
            options.rounds,
            lambda: embed_images(folder, some, settings),
            lambda: embed_one_by_one(encoder, folder, some),
        )
    print(f"\npeak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


if __name__ == "__main__":
    main()
