"""The hybrid: frozen embeddings and TF-IDF through one hidden layer."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from losslab.models.text_model import TextModel


class Hybrid(TextModel):
    """Logits from a frozen embedding and the weighted words beside it.

    ``head(GELU(W [embedding, tfidf] + b))``: the columns of W for words are an ``EmbeddingBag``,
    which reads the words of a document only.

    >>> hybrid = Hybrid(embedding_dim=8, num_words=5, num_labels=3, hidden_dim=4, dropout=0.1)
    >>> words = {"word_ids": torch.tensor([0, 4, 4]), "word_offsets": torch.tensor([0, 2])}
    >>> hybrid(features=torch.zeros(2, 8), **words, word_weights=torch.ones(3)).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        *,
        embedding_dim: int,
        num_words: int,
        num_labels: int,
        hidden_dim: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self.projection = nn.Linear(embedding_dim, hidden_dim)
        self.words = nn.EmbeddingBag(num_words, hidden_dim, mode="sum")
        nn.init.zeros_(self.words.weight)
        self.dropout = nn.Dropout(dropout)
        self.head = nn.Linear(hidden_dim, num_labels)

    def embed(self, **inputs: Tensor) -> Tensor:
        """Frozen embeddings, and the weighted sums of word embeddings: documents x (dim + hidden)."""
        words = self.words(
            inputs["word_ids"],
            inputs["word_offsets"],
            per_sample_weights=self.dropout(inputs["word_weights"]),
        )
        return torch.cat([inputs["features"], words], dim=1)

    def represent(self, embedded: Tensor, **inputs: Tensor) -> Tensor:
        """The hidden layer: documents x hidden."""
        sizes = [self.projection.in_features, self.projection.out_features]
        features, words = embedded.split(sizes, dim=1)
        return F.gelu(self.projection(self.dropout(features)) + words)
