"""A small convolutional network for images, trained from scratch."""

from torch import Tensor, nn

from losslab.models.text_model import TextModel
from losslab.parameters import CNNSettings

GROUPS = 8
STEM_STRIDE = 2


class CNN(TextModel):
    """Layers of convolution, group norm, ReLU and max-pooling; the mean over positions, a linear layer.

    The first convolution has stride 2. Group norm, since losses have batches of different size, and
    what batch norm computes depends on it.

    >>> import torch
    >>> from losslab.parameters import Augmentation
    >>> settings = CNNSettings(kind="cnn", image_size=(24, 16), channels=(8, 16), dropout=0.0,
    ...     augmentation=Augmentation(flip=0, crop=0))
    >>> CNN(settings, num_labels=3)(pixels=torch.zeros(2, 24, 16, 3, dtype=torch.uint8)).shape
    torch.Size([2, 3])
    """

    def __init__(self, settings: CNNSettings, *, num_labels: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        inner, stride = 3, STEM_STRIDE
        for channels in settings.channels:
            layers += [
                nn.Conv2d(inner, channels, 3, stride=stride, padding=1, bias=False),
                nn.GroupNorm(GROUPS, channels),
                nn.ReLU(),
                nn.MaxPool2d(2, ceil_mode=True),  # an image may be smaller than 2 ** layers
            ]
            inner, stride = channels, 1
        self.layers = nn.Sequential(*layers)
        self.dropout = nn.Dropout(settings.dropout)
        self.head = nn.Linear(inner, num_labels)

    def embed(self, **inputs: Tensor) -> Tensor:
        """Pixels from -1 to 1: documents x 3 x height x width."""
        return inputs["pixels"].permute(0, 3, 1, 2).float() / 127.5 - 1

    def represent(self, embedded: Tensor, **inputs: Tensor) -> Tensor:
        """The mean over positions: documents x channels."""
        represented: Tensor = self.layers(embedded).mean(dim=(2, 3))
        return represented
