"""From a recipe to a model."""

from collections.abc import Mapping

import numpy as np

from losslab.models.probe import Probe
from losslab.models.text_model import TextModel
from losslab.parameters import (
    LSTMSettings,
    ModelSettings,
    ProbeSettings,
    TextCNNSettings,
    TransformerSettings,
)


def build_model(
    settings: ModelSettings, features: Mapping[str, np.ndarray], *, labels: int
) -> TextModel:
    """A model with fresh weights for what ``features`` holds, a pretrained encoder's excepted."""
    if isinstance(settings, ProbeSettings):
        width = features["embeddings"].shape[1]
        return Probe(width=width, labels=labels, hidden=settings.hidden, dropout=settings.dropout)
    if isinstance(settings, TransformerSettings):
        from losslab.models.transformer import Transformer

        return Transformer(settings, labels=labels)
    if isinstance(settings, TextCNNSettings):
        from losslab.models.textcnn import TextCNN

        return TextCNN(settings, features["vectors"], labels=labels)
    if isinstance(settings, LSTMSettings):
        from losslab.models.lstm import LSTM

        return LSTM(settings, features["vectors"], labels=labels)
    raise TypeError(f"no model for {type(settings).__name__}")
