"""Images that tests make themselves."""

import struct
import zlib
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image


def noise(height: int = 24, width: int = 16, seed: int = 0) -> np.ndarray:
    """A smooth picture: blocks of four pixels in random colours."""
    small = np.random.default_rng(seed).integers(0, 256, (-(-height // 4), -(-width // 4), 3))
    return np.kron(small, np.ones((4, 4, 1)))[:height, :width].astype(np.uint8)


def encoded(image: Image.Image | np.ndarray, kind: str = "PNG", **options) -> bytes:
    """The bytes of an image file."""
    image = image if isinstance(image, Image.Image) else Image.fromarray(image)
    buffer = BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def bomb(side: int = 100_000) -> bytes:
    """A PNG of a few bytes that claims to have ``side`` squared pixels."""

    def chunk(name: bytes, content: bytes) -> bytes:
        checksum = struct.pack(">I", zlib.crc32(name + content))
        return struct.pack(">I", len(content)) + name + content + checksum

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"\0" * 1000)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


def write_posters(folder: Path, number: int = 40) -> Path:
    """Red, green and blue posters whose colours are their genres, as the public scrape has them."""
    genres = ["Red", "Green", "Blue"]
    lines = ["imdbId,Imdb Link,Title,IMDB Score,Genre,Poster"]
    (folder / "SampleMoviePosters").mkdir(parents=True)
    for name in range(number):
        shown = [bool((name % 7 + 1) >> bit & 1) for bit in range(3)]
        picture = noise(seed=name) // 3 + 150 * np.array(shown, dtype=np.uint8)
        file = folder / f"SampleMoviePosters/{name}.jpg"
        file.write_bytes(encoded(picture.astype(np.uint8), "JPEG", quality=95))
        carried = "|".join(genre for genre, there in zip(genres, shown, strict=True) if there)
        lines.append(f'{name},u,"Film, {name}",,{carried},')
    (folder / "MovieGenre.csv").write_text("\n".join(lines) + "\n", encoding="utf-8-sig")
    return folder
