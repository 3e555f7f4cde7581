"""Image files of documents: found inside their folder, bounded in size, decoded to RGB."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageOps

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP")
"""What is decoded. Others are refused: some of Pillow's decoders start other programs."""
MAX_PIXELS = 50_000_000
MAX_BYTES = 2**27
UNREADABLE = (OSError, SyntaxError, ValueError, EOFError)
"""What Pillow raises at files that are damaged or no images."""
SIXTEEN_BITS = 257  # 65,535 becomes 255
warnings.simplefilter("ignore", Image.DecompressionBombWarning)  # MAX_PIXELS is less, and checked


class ImageFault(ValueError):  # noqa: N818 - told per image
    """Why an image cannot be a document."""


class ImageFile(NamedTuple):
    """An image of a corpus: where it is, from the folder of raw files, and the hash of its bytes."""

    path: str
    sha256: str


def find_image(folder: Path, name: str, *, raw_files: Path | None = None) -> ImageFile:
    """The image ``name`` of ``folder``, decoded once to see that it can be; raise ImageFault.

    Args:
        folder: ``name`` is relative to it, and leads nowhere else, links included.
        raw_files: what the path is told from; outside of it, the path is absolute.
    """
    path = _inside(folder, name)
    content = _read(path)
    decode_image(content, (64, 64))
    root = (raw_files or folder).resolve()
    shown = path.relative_to(root) if path.is_relative_to(root) else path
    return ImageFile(shown.as_posix(), sha256(content).hexdigest())


def load_image(folder: Path, image: ImageFile, size: tuple[int, int]) -> np.ndarray:
    """An image of the corpus as ``decode_image`` has it; raise ImageFault if it is another by now."""
    content = _read(folder / image.path)
    if sha256(content).hexdigest() != image.sha256:
        raise ImageFault("another image than when the corpus was read")
    return decode_image(content, size)


def decode_image(content: bytes, size: tuple[int, int]) -> np.ndarray:
    """RGB of ``size`` (height, width): height x width x 3, uint8.

    Resized without keeping the aspect. CMYK and palettes are converted, transparency is laid on
    white, 16 bits become 8, a photo is turned as its EXIF says; of an animation the first frame counts.
    """
    height, width = size
    with _opened(content) as image:
        image.draft("RGB", (2 * width, 2 * height))  # a JPEG is decoded no larger than needed
        turned = ImageOps.exif_transpose(image)
        resized = _to_rgb(turned).resize((width, height), Image.Resampling.BILINEAR)
        return np.asarray(resized)


def encode_thumbnail(path: Path, height: int) -> bytes:
    """A small JPEG of an image file, which keeps its aspect; raise ImageFault if it is none."""
    with _opened(_read(path)) as image:
        rgb = _to_rgb(ImageOps.exif_transpose(image))
    rgb.thumbnail((2 * height, height))
    buffer = BytesIO()
    rgb.save(buffer, "JPEG", quality=80)
    return buffer.getvalue()


def _inside(folder: Path, name: str) -> Path:
    root = folder.resolve()
    try:
        path = (root / name).resolve()
    except (OSError, ValueError, RuntimeError):  # NUL, a loop of links
        raise ImageFault(f"image '{name[:100]}': expected the path of a file") from None
    if not name.strip():
        raise ImageFault("no image: expected the path of a file")
    if not path.is_relative_to(root):
        raise ImageFault(f"image '{name[:100]}' is outside the folder of the corpus")
    return path


def _read(path: Path) -> bytes:
    """The bytes of a regular file."""
    try:
        if not path.is_file():
            raise ImageFault("image file is missing")
        size = path.stat().st_size
        if size == 0:
            raise ImageFault("image file is empty")
        if size > MAX_BYTES:
            raise ImageFault(f"image file is too large: {size:,} bytes, allowed are {MAX_BYTES:,}")
        return path.read_bytes()
    except OSError as error:
        raise ImageFault(f"image file cannot be read: {error.strerror}") from None


@contextmanager
def _opened(content: bytes) -> Iterator[Image.Image]:
    """An image whose size is checked before a pixel is decoded; any fault is an ImageFault."""
    try:
        with Image.open(BytesIO(content), formats=FORMATS) as image:
            width, height = image.size
            if width * height > MAX_PIXELS:
                raise ImageFault(
                    f"image is too large: {width:,} x {height:,} pixels, allowed are {MAX_PIXELS:,}"
                )
            yield image
    except ImageFault:
        raise
    except Image.DecompressionBombError:  # more than Pillow opens at all
        raise ImageFault(f"image is too large: allowed are {MAX_PIXELS:,} pixels") from None
    except UNREADABLE as error:
        known = type(error).__name__ != "UnidentifiedImageError"
        why = str(error).split("\n")[0][:100] if known else f"expected {', '.join(FORMATS)}"
        raise ImageFault(f"no image that can be read: {why}") from None


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode.startswith("I"):
        image = Image.fromarray((np.asarray(image) / SIXTEEN_BITS).clip(0, 255).astype(np.uint8))
    if image.has_transparency_data:
        with_alpha = image.convert("RGBA")
        white: Any = Image.new("RGBA", with_alpha.size, "white")
        white.alpha_composite(with_alpha)
        image = white
    return image.convert("RGB")
