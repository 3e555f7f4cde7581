"""Two towers that share an encoder: similarity of questions and candidates."""

from collections.abc import Mapping

import numpy as np
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from losslab.models.text_model import TextModel, build_model
from losslab.parameters import ModelSettings, TwoTowerSettings, frozen_encoder

QUESTION, CANDIDATE = "question_", "candidate_"
"""Prefixes of the inputs of either tower."""


class TwoTower(TextModel):
    """Scaled cosine of questions and candidates: ``scale * cos(f(q), f(c))``, questions x candidates.

    f is the tower; with ``residual``, of frozen embeddings e, ``f(e) = e + tower(e)`` with a last
    layer that starts at 0: training starts from the encoder's own similarity.

    Inputs are those of the tower, with the prefix ``question_`` or ``candidate_``.

    >>> import torch
    >>> from losslab.models.probe import Probe
    >>> probe = Probe(embedding_dim=8, num_labels=8, hidden_dim=4, dropout=0.0)
    >>> towers = TwoTower(probe, scale=20.0, residual=True)
    >>> vectors = torch.eye(8)
    >>> logits = towers(question_features=vectors[:2], candidate_features=vectors[:5])
    >>> logits.shape, logits[1].round().tolist()
    (torch.Size([2, 5]), [0.0, 20.0, 0.0, 0.0, 0.0])
    """

    def __init__(self, tower: TextModel, *, scale: float, residual: bool) -> None:
        super().__init__()
        self.tower, self.scale, self.residual = tower, scale, residual
        if residual:
            last = [module for module in tower.modules() if isinstance(module, nn.Linear)][-1]
            nn.init.zeros_(last.weight)
            nn.init.zeros_(last.bias)

    def encode(self, **inputs: Tensor) -> Tensor:
        """Embeddings of length 1, in float32: texts x dim; ``inputs`` without prefix."""
        embedded = self.tower(**inputs).float()
        if self.residual:
            embedded = embedded + inputs["features"]
        return F.normalize(embedded, dim=1)

    def forward(self, **inputs: Tensor) -> Tensor:
        """Logits: questions x candidates."""
        questions, candidates = (
            self.encode(**_without_prefix(inputs, prefix)) for prefix in (QUESTION, CANDIDATE)
        )
        return self.scale * questions @ candidates.T

    def enable_gradient_checkpointing(self) -> None:
        """As the tower does it."""
        self.tower.enable_gradient_checkpointing()


def build_two_tower(
    settings: ModelSettings, features: Mapping[str, np.ndarray], options: TwoTowerSettings
) -> TwoTower:
    """A new two-tower model whose tower is the recipe's model; its head is the projection."""
    residual = frozen_encoder(settings) is not None
    dim = features["embeddings"].shape[1] if residual else options.embedding_dim
    tower = build_model(settings, features, num_labels=dim)
    return TwoTower(tower, scale=options.scale, residual=residual)


def _without_prefix(inputs: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): tensor
        for name, tensor in inputs.items()
        if name.startswith(prefix)
    }
