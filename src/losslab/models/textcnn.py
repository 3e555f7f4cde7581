"""TextCNN (Kim 2014)."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from losslab.models.text_model import WordModel
from losslab.parameters import TextCNNSettings


class TextCNN(WordModel):
    """Convolutions of several kernel sizes, max-pooling over time, a linear layer."""

    def __init__(self, settings: TextCNNSettings, vectors: np.ndarray, *, num_labels: int) -> None:
        super().__init__(vectors)
        self.kernel_sizes = settings.kernel_sizes
        self.convolutions = nn.ModuleList(
            nn.Conv1d(vectors.shape[1], settings.filters, size) for size in settings.kernel_sizes
        )
        self.dropout = nn.Dropout(settings.dropout)
        self.head = nn.Linear(settings.filters * len(settings.kernel_sizes), num_labels)

    def represent(self, embedded: Tensor, **inputs: Tensor) -> Tensor:
        """The pooled filters, documents x all filters; a window starts at a word, may end in padding."""
        mask = inputs["attention_mask"]
        positions = torch.arange(mask.shape[1], device=mask.device)
        starts = (positions < mask.sum(dim=1, keepdim=True).clamp_min(1)).unsqueeze(1)
        words = (embedded * mask.unsqueeze(-1)).transpose(1, 2)
        activations = [
            F.relu(convolution(F.pad(words, (0, size - 1)))).masked_fill(~starts, 0)
            for size, convolution in zip(self.kernel_sizes, self.convolutions, strict=True)
        ]
        return torch.cat([activation.amax(dim=2) for activation in activations], dim=1)
