"""A recurrent network in both directions."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from losslab.models.words import WordModel
from losslab.parameters import LSTMSettings


class LSTM(WordModel):
    """A bidirectional LSTM; the strongest answer of each unit anywhere in the text."""

    def __init__(self, settings: LSTMSettings, vectors: np.ndarray, *, labels: int) -> None:
        super().__init__(vectors)
        self.recurrent = nn.LSTM(
            vectors.shape[1],
            settings.hidden,
            num_layers=settings.layers,
            batch_first=True,
            bidirectional=True,
            dropout=settings.dropout if settings.layers > 1 else 0.0,
        )
        self.dropout = nn.Dropout(settings.dropout)
        self.head = nn.Linear(2 * settings.hidden, labels)

    def classify(self, embedded: Tensor, **inputs: Tensor) -> Tensor:
        """Logits, documents x labels; padding is neither read nor pooled."""
        mask = inputs["attention_mask"]
        lengths = mask.sum(dim=1).clamp_min(1).cpu()
        packed = pack_padded_sequence(
            self.dropout(embedded), lengths, batch_first=True, enforce_sorted=False
        )
        hidden, _ = pad_packed_sequence(self.recurrent(packed)[0], batch_first=True)
        read = torch.arange(hidden.shape[1], device=hidden.device) < lengths.to(
            hidden.device
        ).unsqueeze(1)
        strongest = hidden.masked_fill(~read.unsqueeze(-1), -torch.inf).amax(dim=1)
        logits: Tensor = self.head(self.dropout(strongest))
        return logits
