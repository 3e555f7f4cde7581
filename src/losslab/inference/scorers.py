"""From texts to scores: a network with its tokenizer, or a baseline with its vocabulary."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from losslab.baselines import BASELINES
from losslab.errors import ModelError
from losslab.features.compute import HybridTokenizer, embed_tokens, load_tokenizer, weighted_words
from losslab.features.encoder import load_encoder
from losslab.features.inputs import (
    Inputs,
    default_device,
    do_batches,
    inputs_of,
    scoring_batches,
)
from losslab.features.tfidf import weigh_words
from losslab.features.tokens import TokenIds
from losslab.inference.model import TrainedModel
from losslab.losses import LabelStatistics, build_loss
from losslab.models.text_model import TextModel, ThresholdModel, build_model
from losslab.parameters import (
    ModelSettings,
    Recipe,
    TextSettings,
    TransformerSettings,
    frozen_encoder,
)
from losslab.training.network import ModelWithLoss, load_weights

Scorer = Callable[[Sequence[str]], np.ndarray]
"""Scores of texts: texts x labels, float64."""
CPU_TOKENS = 1024
"""Tokens of a batch on a CPU: activations stay in its cache."""


def make_scorer(model: TrainedModel) -> Scorer:
    """What scores texts as the model did when its thresholds were fitted."""
    if model.is_baseline:
        return WordScorer(model)
    return NetworkScorer(model)


class WordScorer:
    """A baseline on words weighted by TF-IDF."""

    def __init__(self, model: TrainedModel) -> None:
        self._scores = BASELINES[model.facts.method.name].scores
        self._arrays, self._vocabulary = dict(model.weights), model.vocabulary

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Scores: texts x labels."""
        return self._scores(self._arrays, weigh_words(texts, self._vocabulary))


class NetworkScorer:
    """A network on token ids, or on embeddings of a frozen encoder.

    Texts are sorted by length, so that little is padding; on a CPU each thread has a batch of its own.
    """

    def __init__(self, model: TrainedModel) -> None:
        settings = text_settings(model)
        self.network, self._num_labels = build_network(model), len(model.labels)
        self._inputs = InputMaker(settings, model.vocabulary)
        self._device = default_device()
        self._limits = {"max_tokens": CPU_TOKENS} if self._device.type == "cpu" else {}
        self.network.model.to(self._device)

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Scores: texts x labels, in float64 as the pipeline has them."""
        logits = self._logits(self._inputs(texts))
        with torch.inference_mode():
            return self.network.loss.scores(torch.from_numpy(logits).double()).numpy()

    def _logits(self, inputs: Inputs) -> np.ndarray:
        model, device = self.network.model, self._device
        logits = np.empty((len(inputs.lengths), self._num_labels), dtype=np.float32)

        def score(indices: np.ndarray) -> None:
            batch = {name: tensor.to(device) for name, tensor in inputs.batch(indices).items()}
            with torch.inference_mode():
                logits[indices] = model(**batch).float().cpu().numpy()

        for _ in do_batches(score, scoring_batches(inputs.lengths, **self._limits), device):
            pass
        return logits


class InputMaker:
    """What a model reads of texts: token ids, or embeddings of an encoder that is loaded once."""

    def __init__(self, settings: TextSettings, vocabulary: Mapping[str, Any]) -> None:
        loaded = load_tokenizer(settings, vocabulary)
        self._words: Mapping[str, Any] | None = None
        if isinstance(loaded, HybridTokenizer):
            self._words, loaded = loaded.vocabulary, loaded.tokenizer
        self._tokenize = TokenIds(loaded, settings)
        self._frozen = frozen_encoder(settings)
        self._encoder = self._frozen and load_encoder(self._frozen.backbone)

    def __call__(self, texts: Sequence[str]) -> Inputs:
        """The inputs of texts, by batch."""
        features = self._tokenize(texts)
        if self._frozen is not None:
            pooling = self._frozen.pooling
            embeddings = embed_tokens(features, self._encoder, pooling, progress=False)
            words = {} if self._words is None else weighted_words(texts, dict(self._words))
            features = {"embeddings": embeddings, **words}
        return inputs_of(features, np.arange(len(texts)))


def require_recipe(model: TrainedModel) -> Recipe:
    """The recipe of a model that has one."""
    if model.facts.recipe is None:
        raise ModelError(f"{model.facts.method.name} is a baseline: it has no network")
    return model.facts.recipe


def text_settings(model: TrainedModel) -> TextSettings:
    """The settings of a model that reads texts."""
    settings = require_recipe(model).model
    if not isinstance(settings, TextSettings):
        name, recipe = model.facts.method.name, require_recipe(model).name
        raise ModelError(f"{name} with recipe {recipe} reads images: it does not label texts")
    return settings


def build_network(model: TrainedModel) -> ModelWithLoss:
    """The trained network, its loss included; nothing pretrained is read."""
    recipe, facts = require_recipe(model), model.facts
    statistics = LabelStatistics(facts.frequencies, facts.documents, facts.mu)
    loss = build_loss(
        facts.method.name,
        statistics,
        groups=range(len(model.labels)),  # for training alone
        task=facts.task,
        **facts.method.options,
    )
    empty = _empty_model(recipe.model, model, len(model.labels) + loss.threshold_logit)
    empty = ThresholdModel(empty) if loss.threshold_logit else empty
    network = ModelWithLoss(empty, loss, regularizers=recipe.training.regularizers)
    try:
        return load_weights(network, model.weights).eval()
    except RuntimeError as error:
        raise ModelError(
            f"the weights are of another model than config.json says: {error}"
        ) from error


def _empty_model(settings: ModelSettings, model: TrainedModel, num_labels: int) -> TextModel:
    """A model of the shapes that the weights have."""
    if isinstance(settings, TransformerSettings):
        from losslab.models.transformer import Transformer

        return Transformer(settings, num_labels=num_labels, pretrained=False)
    return build_model(settings, _shapes(model.weights), num_labels=num_labels)


def _shapes(weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Features without documents, of the dimensions that trained weights have."""
    weights = {name.replace("model.", ""): array for name, array in weights.items()}
    shapes: dict[str, np.ndarray] = {}
    if "embedding.weight" in weights:
        shapes["vectors"] = np.zeros_like(weights["embedding.weight"])
    if "words.weight" in weights:
        shapes["num_words"] = np.array([len(weights["words.weight"])])
    for name in ("projection.weight", "layers.1.weight"):
        if name in weights:
            shapes["embeddings"] = np.zeros((0, weights[name].shape[1]), dtype=np.float32)
    return shapes
