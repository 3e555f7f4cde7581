"""LSTM with max-pooling over time, of both directions or one."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from losslab.models.text_model import WordModel
from losslab.parameters import LSTMSettings


class LSTM(WordModel):
    """LSTM with max-pooling over time; ``bidirectional``: a BiLSTM."""

    def __init__(self, settings: LSTMSettings, vectors: np.ndarray, *, num_labels: int) -> None:
        super().__init__(vectors)
        self.lstm = nn.LSTM(
            vectors.shape[1],
            settings.hidden_dim,
            num_layers=settings.layers,
            batch_first=True,
            bidirectional=settings.bidirectional,
            dropout=settings.dropout if settings.layers > 1 else 0.0,
        )
        self.dropout = nn.Dropout(settings.dropout)
        directions = 2 if settings.bidirectional else 1
        self.head = nn.Linear(directions * settings.hidden_dim, num_labels)

    def represent(self, embedded: Tensor, **inputs: Tensor) -> Tensor:
        """The pooled states, documents x hidden; padding is neither read nor pooled."""
        lengths = inputs["attention_mask"].sum(dim=1).clamp_min(1).cpu()
        packed = pack_padded_sequence(
            self.dropout(embedded), lengths, batch_first=True, enforce_sorted=False
        )
        hidden, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        positions = torch.arange(hidden.shape[1], device=hidden.device)
        mask = positions < lengths.to(hidden.device).unsqueeze(1)
        return hidden.masked_fill(~mask.unsqueeze(-1), -torch.inf).amax(dim=1)
