"""The probe: a small head on frozen embeddings."""

from torch import Tensor, nn


class Probe(nn.Module):
    """Logits from an embedding: one hidden layer, or none where ``hidden`` is 0.

    >>> import torch
    >>> Probe(width=8, labels=3, hidden=4, dropout=0.1)(torch.zeros(2, 8)).shape
    torch.Size([2, 3])
    """

    def __init__(self, *, width: int, labels: int, hidden: int, dropout: float) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Dropout(dropout)]
        if hidden:
            layers += [nn.Linear(width, hidden), nn.GELU(), nn.Dropout(dropout)]
        self.layers = nn.Sequential(*layers, nn.Linear(hidden or width, labels))

    def forward(self, features: Tensor) -> Tensor:
        """``features`` documents x width, logits documents x labels."""
        logits: Tensor = self.layers(features)
        return logits
