"""A model and the loss that trains it, as one module."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from losslab.losses.base import Loss
from losslab.training.budget import Regularisers


class ModelWithLoss(nn.Module):
    """A model and its loss: the loss's own parameters and random state go along with the weights.

    ``epoch`` is set by the trainer. In training mode the regularisers are added: R-Drop asks two
    dropout passes to agree, virtual adversarial training asks the model not to change its mind where
    its input moves a little in the worst direction.
    """

    def __init__(
        self,
        model: nn.Module,
        loss: Loss,
        *,
        needs_second_pass: bool = False,
        regularisers: Regularisers,
    ) -> None:
        super().__init__()
        self.model = model
        self.loss = loss
        self.epoch = 0
        self.second_pass = needs_second_pass
        self.regularisers = regularisers

    def forward(self, targets: Tensor, **inputs: Tensor) -> dict[str, Tensor]:
        """The loss in float32, and the scores decisions are made by (in evaluation mode)."""
        logits = self.model(**inputs)
        with torch.autocast(logits.device.type, enabled=False):
            if not self.training:
                value = self.loss(logits.float(), targets)
                return {"loss": value, "scores": self.loss.scores(logits.float())}
            return {"loss": self._training_loss(logits, targets, inputs)}

    def _training_loss(self, logits: Tensor, targets: Tensor, inputs: dict[str, Tensor]) -> Tensor:
        context: dict[str, Any] = {"epoch": self.epoch}
        logits = logits.float()
        weights = self.regularisers
        if not (self.second_pass or weights.rdrop or weights.adversarial):
            return self.loss(logits, targets, context)
        second = self.model(**inputs).float() if self.second_pass or weights.rdrop else None
        if self.second_pass:
            context["second_logits"] = second
        value = self.loss(logits, targets, context)
        if weights.rdrop and second is not None:
            value = (value + self.loss(second, targets, context)) / 2
            value = value + weights.rdrop * self.loss.divergence(logits, second).mean() / 2
        if weights.adversarial:
            value = value + weights.adversarial * self._adversarial(logits, inputs)
        return value

    def _adversarial(self, logits: Tensor, inputs: dict[str, Tensor]) -> Tensor:
        """Divergence at the worst small step of the features (Miyato et al. 2018), one iteration."""
        features, calm = inputs["features"], logits.detach()
        direction = _unit(torch.randn_like(features)).requires_grad_()
        with torch.enable_grad():
            moved = self.model(**{**inputs, "features": features + 1e-3 * direction}).float()
            (slope,) = torch.autograd.grad(self.loss.divergence(calm, moved).sum(), direction)
        step = self.regularisers.radius * _unit(slope.detach())
        moved = self.model(**{**inputs, "features": features + step}).float()
        return self.loss.divergence(calm, moved).mean()


def _unit(rows: Tensor) -> Tensor:
    return nn.functional.normalize(rows.flatten(1), dim=1).view_as(rows)


def predict_scores(
    network: ModelWithLoss, weights: Mapping[str, np.ndarray], features: np.ndarray
) -> np.ndarray:
    """What ``network`` with ``weights`` makes decisions by: documents x labels.

    In float64, so that probabilities near 1 keep the order of their logits.
    """
    network.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    network.eval()
    with torch.inference_mode():
        logits = network.model(features=torch.from_numpy(features)).double()
        scores: np.ndarray = network.loss.scores(logits).numpy()
    return scores
