"""Convolutions over windows of words (Kim 2014)."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from losslab.models.words import WordModel
from losslab.parameters import TextCNNSettings


class TextCNN(WordModel):
    """The strongest answer of each filter anywhere in the text, then a linear layer."""

    def __init__(self, settings: TextCNNSettings, vectors: np.ndarray, *, labels: int) -> None:
        super().__init__(vectors)
        self.windows = nn.ModuleList(
            nn.Conv1d(vectors.shape[1], settings.filters, window) for window in settings.windows
        )
        self.dropout = nn.Dropout(settings.dropout)
        self.head = nn.Linear(settings.filters * len(settings.windows), labels)

    def classify(self, embedded: Tensor, **inputs: Tensor) -> Tensor:
        """Logits, documents x labels; a window may begin at any word and end in padding."""
        mask = inputs["attention_mask"]
        starts = torch.arange(mask.shape[1], device=mask.device)
        begins = (starts < mask.sum(dim=1, keepdim=True).clamp_min(1)).unsqueeze(1)
        words = (embedded * mask.unsqueeze(-1)).transpose(1, 2)
        strongest = [
            F.relu(window(F.pad(words, (0, window.kernel_size[0] - 1)))).masked_fill(~begins, 0)
            for window in self.windows
        ]
        pooled = torch.cat([answers.amax(dim=2) for answers in strongest], dim=1)
        logits: Tensor = self.head(self.dropout(pooled))
        return logits
