"""A model and its loss as one module, its regularizers, and inference."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from losslab.features.inputs import Inputs as ModelInputs
from losslab.features.inputs import default_device, inputs_of, scoring_batches
from losslab.losses.base import Loss
from losslab.losses.contrast import supervised_contrast
from losslab.models.text_model import TextModel
from losslab.parameters import ModelSettings, RegularizerSettings
from losslab.training.distributed import cpu_threads, gather_rows

Inputs = Mapping[str, Tensor]


class ModelWithLoss(nn.Module):
    """A model and its loss; the loss's parameters and random state belong to the state dict.

    Inference takes ``threads`` CPU threads, None for all: results may differ in the last bit.

    In training mode regularizers are added: R-Drop (two dropout passes should agree), virtual
    adversarial training (logits should not change under the worst small perturbation) and multi-label
    contrast (documents that share labels should be alike). With DDP, each rank's loss sees the rows of
    all ranks.
    """

    def __init__(
        self,
        model: TextModel,
        loss: Loss,
        *,
        needs_second_pass: bool = False,
        regularizers: RegularizerSettings,
        threads: int | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.threads = threads
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
        """The loss, in float32; its logits stay in ``last_logits``.

        ``total``: documents in the batch of all ranks, in training mode.
        """
        if self.training:
            return self._training_loss(inputs, targets, context, total or len(targets))
        logits = self.model(**inputs).float()
        self.last_logits = logits.detach()
        with _full_precision(logits):
            value: Tensor = self.loss(logits, targets)
        return value

    def _training_loss(
        self, inputs: Inputs, targets: Tensor, context: Mapping[str, Any], total: int
    ) -> Tensor:
        weights = self.regularizers
        local, represented = self._first_pass(inputs)
        second = self.model(**inputs).float() if self.second_pass or weights.rdrop else None
        perturbed = self._perturb(local.detach(), inputs) if weights.adversarial else None
        logits, targets = gather_rows(local, total), gather_rows(targets, total)
        second = None if second is None else gather_rows(second, total)
        perturbed = None if perturbed is None else gather_rows(perturbed, total)
        represented = None if represented is None else gather_rows(represented, total)
        gathered = {
            name: gather_rows(value, total) if isinstance(value, Tensor) else value
            for name, value in context.items()
        }
        if self.second_pass:
            gathered["second_logits"] = second
        self.last_logits = logits.detach()
        with _full_precision(logits):
            value: Tensor = self.loss(logits, targets, gathered)
            if weights.rdrop and second is not None:
                value = (value + self.loss(second, targets, gathered)) / 2
                value = value + weights.rdrop * self.loss.divergence(logits, second).mean() / 2
            if perturbed is not None:
                divergence = self.loss.divergence(logits.detach(), perturbed).mean()
                value = value + weights.adversarial * divergence
            if represented is not None:
                temperature = weights.mulsupcon_temperature
                contrast = supervised_contrast(represented, targets, temperature=temperature)
                value = value + weights.mulsupcon * contrast
        return value

    def _first_pass(self, inputs: Inputs) -> tuple[Tensor, Tensor | None]:
        """Logits, and the documents' vectors where a regularizer compares them."""
        if not self.regularizers.mulsupcon:
            return self.model(**inputs).float(), None
        represented = self.model.represent(self.model.embed(**inputs), **inputs)
        return self.model.label(represented).float(), represented.float()

    def _perturb(self, clean: Tensor, inputs: Inputs) -> Tensor:
        """Logits at the worst small perturbation of the embeddings (Miyato et al. 2018).

        One power iteration, in float32: half precision would round the perturbation away.
        """
        embedded = self.model.embed(**inputs).detach()
        direction = _unit_norm(torch.randn_like(embedded)).requires_grad_()
        with torch.enable_grad(), _full_precision(clean):
            moved = self.model.classify(embedded + 1e-3 * direction, **inputs)
            (gradient,) = torch.autograd.grad(self.loss.divergence(clean, moved).sum(), direction)
        perturbation = self.regularizers.adversarial_epsilon * _unit_norm(gradient.detach())
        return self.model.classify(self.model.embed(**inputs) + perturbation, **inputs).float()


def _full_precision(like: Tensor) -> torch.autocast:
    return torch.autocast(like.device.type, enabled=False)


def _unit_norm(rows: Tensor) -> Tensor:
    return nn.functional.normalize(rows.flatten(1), dim=1).view_as(rows)


def load_weights(network: ModelWithLoss, weights: Mapping[str, np.ndarray]) -> ModelWithLoss:
    """``network`` with the weights of a training, the loss's state included."""
    network.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    return network


def predict_logits(network: ModelWithLoss, inputs: ModelInputs) -> np.ndarray:
    """Logits: documents x labels, float64."""
    return _predict(network, inputs, lambda logits: logits)


def predict_scores(network: ModelWithLoss, inputs: ModelInputs) -> np.ndarray:
    """The scores decisions are made by: documents x labels, float64.

    In float64, so that probabilities near 1 keep the order of their logits, and on the CPU, since
    not every device has float64.
    """
    return _predict(network, inputs, network.loss.cpu().scores)


def _predict(
    network: ModelWithLoss, inputs: ModelInputs, transform: Callable[[Tensor], Tensor]
) -> np.ndarray:
    device = default_device()
    model = network.eval().model.to(device)
    predictions = np.empty((0, 0))
    with torch.inference_mode(), cpu_threads(network.threads):
        for indices in scoring_batches(inputs.lengths):
            batch = {name: tensor.to(device) for name, tensor in inputs.batch(indices).items()}
            values = transform(model(**batch).cpu().double()).numpy()
            if not len(predictions):
                predictions = np.empty((len(inputs.lengths), values.shape[1]))
            predictions[indices] = values
    return predictions


def text_scorer(
    network: ModelWithLoss, settings: ModelSettings, tokenizer: Mapping[str, Any]
) -> Callable[[list[str]], np.ndarray]:
    """A function from texts to scores, texts x labels; ``tokenizer`` is the corpus's, as JSON."""
    from losslab.features.compute import compute_features, load_tokenizer

    loaded = load_tokenizer(settings, tokenizer)

    def score(texts: list[str]) -> np.ndarray:
        features = compute_features(settings, texts, loaded)
        return predict_scores(network, inputs_of(features, np.arange(len(texts))))

    return score
