"""The probe: a small head on frozen embeddings."""

from torch import Tensor, nn

from losslab.models.text_model import TextModel


class Probe(TextModel):
    """Logits from an embedding: one hidden layer, or none where ``hidden`` is 0.

    >>> import torch
    >>> Probe(width=8, labels=3, hidden=4, dropout=0.1)(features=torch.zeros(2, 8)).shape
    torch.Size([2, 3])
    """

    def __init__(self, *, width: int, labels: int, hidden: int, dropout: float) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Dropout(dropout)]
        if hidden:
            layers += [nn.Linear(width, hidden), nn.GELU(), nn.Dropout(dropout)]
        self.layers = nn.Sequential(*layers, nn.Linear(hidden or width, labels))

    def embed(self, **inputs: Tensor) -> Tensor:
        """The embeddings as they come: documents x width."""
        return inputs["features"]

    def classify(self, embedded: Tensor, **inputs: Tensor) -> Tensor:
        """Logits, documents x labels."""
        logits: Tensor = self.layers(embedded)
        return logits
