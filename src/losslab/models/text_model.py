"""The interface of all models, and ``build_model``: from settings to a model."""

import logging
from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor, nn

from losslab.parameters import (
    CNNSettings,
    HybridSettings,
    ImageProbeSettings,
    LSTMSettings,
    ModelSettings,
    ProbeSettings,
    TextCNNSettings,
    TransformerSettings,
)

logger = logging.getLogger(__name__)


class TextModel(nn.Module):
    """A model in three steps, so that regularizers can perturb embeddings and compare documents.

    ``embed`` makes input embeddings, ``represent`` a vector of each document, ``label`` its logits.

    Those with a ``head`` and ``dropout`` before it need no ``label`` of their own.

    ``inputs`` are ``features`` (documents x dim), beside them ``word_ids``, ``word_weights`` and
    ``word_offsets`` for a hybrid; ``input_ids`` and ``attention_mask`` (documents x tokens); or
    ``pixels`` (documents x height x width x 3, uint8).
    """

    head: nn.Module
    dropout: nn.Module

    def embed(self, **inputs: Tensor) -> Tensor:
        """Input embeddings."""
        raise NotImplementedError

    def represent(self, embedded: Tensor, **inputs: Tensor) -> Tensor:
        """What the head reads of each document: documents x dim."""
        raise NotImplementedError

    def label(self, represented: Tensor) -> Tensor:
        """Logits: documents x labels."""
        logits: Tensor = self.head(self.dropout(represented))
        return logits

    def classify(self, embedded: Tensor, **inputs: Tensor) -> Tensor:
        """Logits from embeddings: documents x labels."""
        return self.label(self.represent(embedded, **inputs))

    def forward(self, **inputs: Tensor) -> Tensor:
        """Logits: documents x labels."""
        return self.classify(self.embed(**inputs), **inputs)

    def enable_gradient_checkpointing(self) -> None:
        """Recompute activations in the backward pass, if the model supports it."""
        logger.warning(
            "%s has no layers to checkpoint: gradient_checkpointing has no effect",
            type(self).__name__,
        )


class ThresholdModel(TextModel):
    """A model whose last logit is a threshold of each document: the margins of the others above it."""

    def __init__(self, model: TextModel) -> None:
        super().__init__()
        self.model = model

    def embed(self, **inputs: Tensor) -> Tensor:
        """The model's."""
        return self.model.embed(**inputs)

    def represent(self, embedded: Tensor, **inputs: Tensor) -> Tensor:
        """The model's."""
        return self.model.represent(embedded, **inputs)

    def label(self, represented: Tensor) -> Tensor:
        """``z - t``: documents x labels."""
        logits = self.model.label(represented)
        return logits[:, :-1] - logits[:, -1:]

    def enable_gradient_checkpointing(self) -> None:
        """The model's."""
        self.model.enable_gradient_checkpointing()


class WordModel(TextModel):
    """A model on trainable word embeddings, initialized with ``vectors`` (words x dim)."""

    def __init__(self, vectors: np.ndarray) -> None:
        super().__init__()
        from_pretrained: Callable[..., nn.Embedding] = nn.Embedding.from_pretrained
        weights = torch.from_numpy(vectors.copy())
        self.embedding = from_pretrained(weights, freeze=False, padding_idx=0)

    def embed(self, **inputs: Tensor) -> Tensor:
        """Word embeddings: documents x tokens x dim."""
        embedded: Tensor = self.embedding(inputs["input_ids"])
        return embedded


def build_model(
    settings: ModelSettings, features: Mapping[str, np.ndarray], *, num_labels: int
) -> TextModel:
    """A new model for ``features``; pretrained encoders keep their weights."""
    if isinstance(settings, ProbeSettings | ImageProbeSettings):
        from losslab.models.probe import Probe

        return Probe(
            embedding_dim=features["embeddings"].shape[1],
            num_labels=num_labels,
            hidden_dim=settings.hidden_dim,
            dropout=settings.dropout,
        )
    if isinstance(settings, HybridSettings):
        from losslab.models.hybrid import Hybrid

        return Hybrid(
            embedding_dim=features["embeddings"].shape[1],
            num_words=int(features["num_words"][0]),
            num_labels=num_labels,
            hidden_dim=settings.hidden_dim,
            dropout=settings.dropout,
        )
    if isinstance(settings, TransformerSettings):
        from losslab.models.transformer import Transformer

        return Transformer(settings, num_labels=num_labels)
    if isinstance(settings, TextCNNSettings):
        from losslab.models.textcnn import TextCNN

        return TextCNN(settings, features["vectors"], num_labels=num_labels)
    if isinstance(settings, LSTMSettings):
        from losslab.models.lstm import LSTM

        return LSTM(settings, features["vectors"], num_labels=num_labels)
    if isinstance(settings, CNNSettings):
        from losslab.models.cnn import CNN

        return CNN(settings, num_labels=num_labels)
    raise TypeError(f"no model for {type(settings).__name__}")
