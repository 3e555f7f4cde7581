"""Scoring texts that were not there when features were made."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from losslab.features.compute import compute_features
from losslab.features.inputs import inputs_of
from losslab.parameters import ModelSettings
from losslab.training.network import ModelWithLoss, predict_scores


def text_scorer(
    network: ModelWithLoss, settings: ModelSettings, tokenizer: Mapping[str, Any]
) -> Callable[[list[str]], np.ndarray]:
    """A function from texts to what ``network`` makes decisions by, texts x labels.

    ``tokenizer`` is the one the corpus was read with. Whatever the recipe: a probe's texts are
    embedded, the others' tokenised; both go through in batches of similar length.
    """
    from tokenizers import Tokenizer

    reader = Tokenizer.from_str(json.dumps(tokenizer))

    def score(texts: list[str]) -> np.ndarray:
        features = compute_features(settings, texts, reader)
        return predict_scores(network, inputs_of(features, np.arange(len(texts))))

    return score
