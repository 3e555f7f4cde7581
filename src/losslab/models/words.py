"""A model whose first layer is an embedding of words."""

import numpy as np
import torch
from torch import Tensor, nn

from losslab.models.text_model import TextModel


class WordModel(TextModel):
    """A model whose first layer looks words up; ``vectors`` are where they start."""

    def __init__(self, vectors: np.ndarray) -> None:
        super().__init__()
        self.words = nn.Embedding.from_pretrained(
            torch.from_numpy(vectors.copy()), freeze=False, padding_idx=0
        )

    def embed(self, **inputs: Tensor) -> Tensor:
        """Word embeddings: documents x words x width."""
        embedded: Tensor = self.words(inputs["input_ids"])
        return embedded
