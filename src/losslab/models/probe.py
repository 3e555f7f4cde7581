"""The probe: a linear or one-hidden-layer head on frozen embeddings."""

from torch import Tensor, nn

from losslab.models.text_model import TextModel


class Probe(TextModel):
    """Logits from a frozen embedding; ``hidden_dim`` 0 makes it linear.

    >>> import torch
    >>> probe = Probe(embedding_dim=8, num_labels=3, hidden_dim=4, dropout=0.1)
    >>> probe(features=torch.zeros(2, 8)).shape
    torch.Size([2, 3])
    """

    def __init__(
        self, *, embedding_dim: int, num_labels: int, hidden_dim: int, dropout: float
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Dropout(dropout)]
        if hidden_dim:
            layers += [nn.Linear(embedding_dim, hidden_dim), nn.GELU(), nn.Dropout(dropout)]
        self.layers = nn.Sequential(*layers, nn.Linear(hidden_dim or embedding_dim, num_labels))

    def embed(self, **inputs: Tensor) -> Tensor:
        """The frozen embeddings: documents x dim."""
        return inputs["features"]

    def represent(self, embedded: Tensor, **inputs: Tensor) -> Tensor:
        """The frozen embeddings as they are."""
        return embedded

    def label(self, represented: Tensor) -> Tensor:
        """Logits: documents x labels."""
        logits: Tensor = self.layers(represented)
        return logits
