"""A model and the loss that trains it, as one module."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from losslab.features.encoder import default_device
from losslab.features.inputs import Embeddings, Tokens, scoring_batches
from losslab.losses.base import Loss
from losslab.models.text_model import TextModel
from losslab.parameters import RegularizerSettings
from losslab.training.processes import gather_rows

Inputs = Mapping[str, Tensor]


class ModelWithLoss(nn.Module):
    """A model and its loss: the loss's own parameters and random state go along with the weights.

    In training mode the regularizers are added: R-Drop asks two dropout passes to agree, virtual
    adversarial training asks the model not to change its mind where its input moves a little in the
    worst direction. Where several processes train, each loss sees the batch of all of them.
    """

    def __init__(
        self,
        model: TextModel,
        loss: Loss,
        *,
        needs_second_pass: bool = False,
        regularizers: RegularizerSettings,
    ) -> None:
        super().__init__()
        self.model = model
        self.loss = loss
        self.second_pass = needs_second_pass
        self.regularizers = regularizers
        self.last_logits = torch.empty(0, 0)

    def forward(
        self,
        inputs: Inputs,
        targets: Tensor,
        context: Mapping[str, Any],
        total: int | None = None,
    ) -> Tensor:
        """The loss, in float32; ``last_logits`` are those it was computed of.

        In training mode, ``total`` is the number of documents in the batch of all processes.
        """
        logits = self.model(**inputs).float()
        if self.training:
            return self._training_loss(logits, inputs, targets, context, total or len(logits))
        self.last_logits = logits.detach()
        with _full_precision(logits):
            value: Tensor = self.loss(logits, targets)
        return value

    def _training_loss(
        self,
        logits: Tensor,
        inputs: Inputs,
        targets: Tensor,
        context: Mapping[str, Any],
        total: int,
    ) -> Tensor:
        weights = self.regularizers
        second = self.model(**inputs).float() if self.second_pass or weights.rdrop else None
        moved = self._move(logits.detach(), inputs) if weights.adversarial else None
        everyone, truth, others, beyond = (
            None if rows is None else gather_rows(rows, total)
            for rows in (logits, targets, second, moved)
        )
        known = {
            name: gather_rows(value, total) if isinstance(value, Tensor) else value
            for name, value in context.items()
        }
        if self.second_pass:
            known["second_logits"] = others
        self.last_logits = everyone.detach()
        with _full_precision(logits):
            value = self.loss(everyone, truth, known)
            if weights.rdrop:
                value = (value + self.loss(others, truth, known)) / 2
                value = value + weights.rdrop * self.loss.divergence(everyone, others).mean() / 2
            if weights.adversarial:
                apart = self.loss.divergence(everyone.detach(), beyond).mean()
                value = value + weights.adversarial * apart
        return value

    def _move(self, calm: Tensor, inputs: Inputs) -> Tensor:
        """Logits at the worst small step of the embeddings (Miyato et al. 2018), one iteration.

        The step is searched in float32: half precision would round away what moves there.
        """
        embedded = self.model.embed(**inputs).detach()
        direction = _unit(torch.randn_like(embedded)).requires_grad_()
        with torch.enable_grad(), _full_precision(calm):
            moved = self.model.classify(embedded + 1e-3 * direction, **inputs)
            (slope,) = torch.autograd.grad(self.loss.divergence(calm, moved).sum(), direction)
        step = self.regularizers.adversarial_epsilon * _unit(slope.detach())
        return self.model.classify(self.model.embed(**inputs) + step, **inputs).float()


def _full_precision(like: Tensor) -> torch.autocast:
    return torch.autocast(like.device.type, enabled=False)


def _unit(rows: Tensor) -> Tensor:
    return nn.functional.normalize(rows.flatten(1), dim=1).view_as(rows)


def load_weights(network: ModelWithLoss, weights: Mapping[str, np.ndarray]) -> ModelWithLoss:
    """``network`` with the weights of a training, its loss's own state among them."""
    network.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    return network


def predict_logits(network: ModelWithLoss, inputs: Embeddings | Tokens) -> np.ndarray:
    """What ``network`` says of each document: documents x labels, in float64."""
    return _predict(network, inputs, lambda logits: logits)


def predict_scores(network: ModelWithLoss, inputs: Embeddings | Tokens) -> np.ndarray:
    """What ``network`` makes decisions by: documents x labels.

    In float64, so that probabilities near 1 keep the order of their logits, and on the CPU, since
    not every device has float64.
    """
    return _predict(network, inputs, network.loss.cpu().scores)


def _predict(
    network: ModelWithLoss, inputs: Embeddings | Tokens, judge: Callable[[Tensor], Tensor]
) -> np.ndarray:
    """What ``judge`` makes of the logits of each batch, in one array."""
    device = default_device()
    model = network.eval().model.to(device)
    made = np.empty((0, 0))
    with torch.inference_mode():
        for places in scoring_batches(inputs.lengths):
            batch = {name: part.to(device) for name, part in inputs.batch(places).items()}
            judged = judge(model(**batch).cpu().double()).numpy()
            made = made if len(made) else np.empty((len(inputs.lengths), judged.shape[1]))
            made[places] = judged
    return made
