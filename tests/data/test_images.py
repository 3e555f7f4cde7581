import os
from io import BytesIO

import numpy as np
import pytest
from image_files import bomb, encoded, noise
from PIL import Image

from losslab.data import images
from losslab.data.images import (
    ImageFault,
    ImageFile,
    decode_image,
    encode_thumbnail,
    find_image,
    load_image,
)

SIZE = (24, 16)


def put(folder, content, name="a.png"):
    (folder / name).write_bytes(content)
    return name


@pytest.mark.parametrize("kind", ["PNG", "BMP", "WEBP"])
def test_pixels_are_those_of_the_file(kind):
    options = {"lossless": True} if kind == "WEBP" else {}
    assert np.array_equal(decode_image(encoded(noise(), kind, **options), SIZE), noise())


def test_other_sizes_are_resized_as_pillow_does():
    expected = Image.fromarray(noise()).resize((8, 10), Image.Resampling.BILINEAR)
    assert np.array_equal(decode_image(encoded(noise()), (10, 8)), np.asarray(expected))


def test_large_jpeg_is_close_to_the_same_picture_resized():
    picture = noise(480, 320)
    expected = Image.fromarray(picture).resize((32, 48), Image.Resampling.BILINEAR)
    decoded = decode_image(encoded(picture, "JPEG", quality=95), (48, 32))
    assert np.abs(decoded.astype(int) - np.asarray(expected)).mean() < 25


def test_cmyk_becomes_rgb():
    file = encoded(Image.fromarray(noise()).convert("CMYK"), "JPEG", quality=100, subsampling=0)
    assert Image.open(BytesIO(file)).mode == "CMYK"
    assert np.abs(decode_image(file, SIZE).astype(int) - noise()).mean() < 5


def test_transparency_is_laid_on_white():
    alpha = np.zeros((24, 16, 1), np.uint8)
    alpha[:, :8] = 255
    decoded = decode_image(encoded(np.concatenate([noise(), alpha], axis=2)), SIZE)
    assert np.array_equal(decoded[:, :8], noise()[:, :8])
    assert (decoded[:, 8:] == 255).all()


def test_transparent_colour_of_a_palette_is_white():
    image = Image.new("P", (16, 24), 1)
    image.putpalette([9, 9, 9, 0, 0, 0])
    assert (decode_image(encoded(image, "GIF", transparency=1), SIZE) == 255).all()


def test_grey_of_sixteen_bits_becomes_eight():
    grey = noise()[..., 0].astype(np.uint16)
    decoded = decode_image(encoded(Image.fromarray(grey * 257)), SIZE)
    assert np.array_equal(decoded, np.repeat(grey[..., None], 3, axis=2))


def test_photo_is_turned_as_its_exif_says():
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by 90 degrees
    file = encoded(noise(16, 24), exif=exif)
    assert np.array_equal(decode_image(file, SIZE), np.rot90(noise(16, 24), -1))


def test_first_frame_of_an_animation_counts():
    frames = [Image.new("RGB", (16, 24), colour) for colour in ("red", "blue")]
    file = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert decode_image(file, SIZE)[0, 0].tolist() == [255, 0, 0]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"<html>404</html>", "no image that can be read: expected JPEG, PNG"),
        (encoded(noise())[:-40], "no image that can be read"),
        (encoded(noise(), "JPEG")[:300], "no image that can be read"),
        (encoded(Image.fromarray(noise()), "EPS"), "no image that can be read: expected JPEG"),
        (bomb(), "too large: allowed are 50,000,000 pixels"),
        (bomb(8_000), "too large: 8,000 x 8,000 pixels"),
    ],
    ids=["empty", "a page", "torn PNG", "torn JPEG", "EPS", "bomb", "large"],
)
def test_what_is_no_image_is_told(content, reason, tmp_path):
    with pytest.raises(ImageFault, match=reason):
        find_image(tmp_path, put(tmp_path, content))


def test_large_file_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(images, "MAX_BYTES", 100)
    with pytest.raises(ImageFault, match="file is too large: 1,000 bytes, allowed are 100"):
        find_image(tmp_path, put(tmp_path, b"x" * 1000))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../outside.png", "is outside the folder"),
        ("{outside}", "is outside the folder"),
        ("link.png", "is outside the folder"),
        ("missing.png", "is missing"),
        ("folder", "is missing"),
        ("pipe", "is missing"),
        (" ", "no image"),
        ("nul\0.png", "expected the path of a file"),
        ("n" * 5000, "image"),
    ],
)
def test_path_leads_to_a_file_of_the_folder(name, reason, tmp_path):
    outside, folder = tmp_path / "outside.png", tmp_path / "corpus"
    outside.write_bytes(encoded(noise()))
    (folder / "folder").mkdir(parents=True)
    (folder / "link.png").symlink_to(outside)
    os.mkfifo(folder / "pipe")
    with pytest.raises(ImageFault, match=reason):
        find_image(folder, name.format(outside=outside) if "{" in name else name)


def test_path_is_told_from_the_raw_files_or_is_absolute(tmp_path):
    (tmp_path / "raw/posters").mkdir(parents=True)
    name = put(tmp_path / "raw/posters", encoded(noise()))
    inside = find_image(tmp_path / "raw/posters", name, raw_files=tmp_path / "raw")
    assert inside.path == "posters/a.png"
    elsewhere = find_image(tmp_path / "raw/posters", name, raw_files=tmp_path / "other")
    assert elsewhere.path == str(tmp_path / "raw/posters/a.png")
    for image, folder in ((inside, "raw"), (elsewhere, "other")):
        assert np.array_equal(load_image(tmp_path / folder, image, SIZE), noise())


def test_image_that_was_replaced_is_not_taken_for_the_one_that_was_read(tmp_path):
    name = put(tmp_path, encoded(noise()))
    image = find_image(tmp_path, name)
    put(tmp_path, encoded(noise(seed=1)))
    with pytest.raises(ImageFault, match="another image than when the corpus was read"):
        load_image(tmp_path, image, SIZE)
    with pytest.raises(ImageFault, match="is missing"):
        load_image(tmp_path, ImageFile("b.png", image.sha256), SIZE)


def test_thumbnail_is_a_small_jpeg_of_the_same_shape(tmp_path):
    put(tmp_path, encoded(noise(960, 640)))
    small = encode_thumbnail(tmp_path / "a.png", 96)
    with Image.open(BytesIO(small)) as image:
        assert (image.format, image.size) == ("JPEG", (64, 96))
    assert len(small) < 10_000
