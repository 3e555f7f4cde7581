"""Images as arrays and embeddings, in bounded memory."""

import numpy as np
import pytest
import torch
from image_files import encoded, noise
from safetensors.numpy import load_file

from losslab.data.images import decode_image, find_image
from losslab.datasets import MappedTensorsDataset
from losslab.errors import CorpusError, EncoderError
from losslab.features import image_encoder
from losslab.features.image_encoder import ImageEncoder, load_image_encoder
from losslab.features.inputs import Images, augment, inputs_of
from losslab.features.pixels import embed_images, image_array
from losslab.parameters import Augmentation, FrozenImageEncoder

SIZE = (32, 24)
BOTH = Augmentation(flip=0.5, crop=0.1)


@pytest.fixture
def files(tmp_path):
    for number in range(7):
        (tmp_path / f"{number}.png").write_bytes(encoded(noise(40, 30, seed=number)))
    return [find_image(tmp_path, f"{number}.png") for number in range(7)]


def test_array_holds_every_image_in_order_whatever_the_block(files, tmp_path, monkeypatch):
    expected = [decode_image((tmp_path / file.path).read_bytes(), SIZE) for file in files]
    for block in (1, 3, 7, 256):
        monkeypatch.setattr("losslab.features.pixels.BLOCK", block)
        array = image_array(tmp_path, files, SIZE)
        assert array.shape == (7, *SIZE, 3)
        assert max(len(each) for each in array.make()) <= block
        assert np.array_equal(array.to_array(), expected)


def test_saved_blocks_are_a_file_of_safetensors_and_are_mapped(files, tmp_path):
    blocks = image_array(tmp_path, files, SIZE)
    others = {"weights": np.arange(5, dtype=np.float32), "offset": np.array([3])}
    dataset = MappedTensorsDataset(filepath=str(tmp_path / "features.safetensors"))
    dataset.save({"pixels": blocks, **others, "none": np.empty((0, 3), np.int8)})
    by_the_library = load_file(tmp_path / "features.safetensors")
    mapped = dataset.load()
    assert mapped.keys() == by_the_library.keys() == {"pixels", "none", *others}
    for name, array in mapped.items():
        assert array.dtype == by_the_library[name].dtype
        assert np.array_equal(array, by_the_library[name])
    assert np.array_equal(mapped["pixels"], blocks.to_array())
    assert isinstance(mapped["pixels"].base, np.memmap)
    mapped["pixels"][:] = 0  # a copy: the file stays as it was
    assert np.array_equal(dataset.load()["pixels"], blocks.to_array())


def test_file_of_the_library_is_mapped_too(tmp_path):
    from safetensors.numpy import save_file

    arrays = {"ids": np.arange(7, dtype=np.uint16), "pad": np.array([1]), "wide": np.eye(3)}
    save_file(arrays, tmp_path / "tokens.safetensors")
    loaded = MappedTensorsDataset(filepath=str(tmp_path / "tokens.safetensors")).read(
        tmp_path / "tokens.safetensors"
    )
    for name, array in arrays.items():
        assert np.array_equal(loaded[name], array)


def test_image_that_changed_since_the_corpus_was_read_is_named(files, tmp_path):
    (tmp_path / "3.png").write_bytes(encoded(noise(40, 30, seed=99)))
    with pytest.raises(CorpusError, match=r"3\.png: another image .* kedro run --fresh"):
        image_array(tmp_path, files, SIZE).to_array()


def test_packaged_encoder_embeds_in_the_order_of_images_whatever_the_batch(files, tmp_path):
    settings = FrozenImageEncoder(backbone="efficientnet_lite0", image_size=SIZE)
    embeddings = embed_images(tmp_path, files, settings)
    assert embeddings.shape == (7, 1280)
    assert embeddings.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(embeddings, axis=1), 1, rtol=1e-5)
    one_by_one = [embed_images(tmp_path, [file], settings)[0] for file in files]
    np.testing.assert_allclose(embeddings, one_by_one, atol=1e-5)


def test_packaged_encoder_knows_a_flower():
    from PIL import Image
    from sklearn.datasets import load_sample_image

    network = load_image_encoder("efficientnet_lite0").eval()
    flower = Image.fromarray(load_sample_image("flower.jpg")).resize((224, 224))
    pixels = torch.from_numpy(np.array(flower)).permute(2, 0, 1)[None].float() / 255
    with torch.inference_mode():
        logits = network.backbone.network((pixels - network.mean) / network.std)
    assert logits.argmax().item() == 985  # ImageNet's daisy


def test_weights_of_another_sha256_are_refused(monkeypatch):
    monkeypatch.setattr(image_encoder, "WEIGHTS_SHA256", "0" * 64)
    with pytest.raises(EncoderError, match="holds other weights"):
        load_image_encoder("efficientnet_lite0")


def write_hub_encoder(folder, config) -> str:
    from transformers import AutoModel, ViTImageProcessor

    torch.manual_seed(0)
    AutoModel.from_config(config).save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(
        ViTImageProcessor(image_mean=[0.1, 0.2, 0.3], image_std=[0.4, 0.5, 0.6]).to_json_string()
    )
    return str(folder)


@pytest.mark.parametrize("kind", ["vit", "resnet"])
def test_encoder_of_the_hub_is_normalized_and_pooled_as_it_was_made(kind, tmp_path):
    from transformers import AutoModel, ResNetConfig, ViTConfig

    small = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = {
        "vit": lambda: ViTConfig(**small, intermediate_size=8, image_size=32, patch_size=8),
        "resnet": lambda: ResNetConfig(embedding_size=8, hidden_sizes=[8], depths=[1]),
    }[kind]()
    name = write_hub_encoder(tmp_path, config)
    pixels = torch.from_numpy(np.stack([noise(32, 32, seed=n) for n in range(3)]))
    encoder = load_image_encoder(name).eval()
    mean, std = torch.tensor([0.1, 0.2, 0.3]), torch.tensor([0.4, 0.5, 0.6])
    values = ((pixels / 255 - mean) / std).permute(0, 3, 1, 2)
    with torch.inference_mode():
        hidden = AutoModel.from_pretrained(name).eval()(values).last_hidden_state
        expected = hidden.mean(dim=1) if kind == "vit" else hidden.mean(dim=(2, 3))
        torch.testing.assert_close(encoder(pixels), expected)


def test_unknown_encoder_is_one_line():
    with pytest.raises(EncoderError, match=r"no image encoder 'nowhere/no': expected 'efficientn"):
        load_image_encoder("nowhere/no")


def test_encoder_pools_over_positions():
    backbone = torch.nn.Identity()
    encoder = ImageEncoder(backbone, [0.0] * 3, [1.0] * 3)
    pixels = torch.from_numpy(noise()[None])
    expected = pixels[0].float().mean(dim=(0, 1)) / 255
    torch.testing.assert_close(encoder(pixels)[0], expected)


def slowly_augmented(pixels, settings):
    """The same draws, an image and a pixel at a time."""
    count, height, width, _ = pixels.shape
    flips = torch.rand(count, 1) < settings.flip
    most = round(settings.crop * height), round(settings.crop * width)
    down = torch.randint(-most[0], most[0] + 1, (count, 1))
    right = torch.randint(-most[1], most[1] + 1, (count, 1))
    changed = torch.empty_like(pixels)
    for n in range(count):
        for y in range(height):
            for x in range(width):
                row = min(max(y + int(down[n]), 0), height - 1)
                column = min(max(x + int(right[n]), 0), width - 1)
                column = width - 1 - column if flips[n] else column
                changed[n, y, x] = pixels[n, row, column]
    return changed


def test_augmentation_agrees_with_a_slow_loop():
    pixels = torch.from_numpy(np.stack([noise(20, 14, seed=n) for n in range(6)]))
    torch.manual_seed(3)
    fast = augment(pixels, BOTH)
    torch.manual_seed(3)
    assert torch.equal(fast, slowly_augmented(pixels, BOTH))
    assert not torch.equal(fast, pixels)


def test_images_are_augmented_where_that_is_asked_for_only():
    pixels = np.stack([noise(20, 14, seed=n) for n in range(8)])
    rows, indices = np.array([5, 2, 7]), np.array([2, 0])
    plain = inputs_of({"pixels": pixels}, rows).batch(indices)["pixels"]
    assert np.array_equal(plain, pixels[[7, 5]])
    training = Images(pixels, rows, BOTH)
    seen = [training.batch(indices)["pixels"] for _ in range(5)]
    assert any(not torch.equal(seen[0], other) for other in seen[1:])
