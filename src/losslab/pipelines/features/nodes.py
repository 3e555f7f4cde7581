"""Documents to what models and baselines read."""

import json
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.data.split import split_rows
from losslab.parameters import FeatureSettings, TfidfSettings


def compute_features(
    splits: pd.DataFrame, settings: FeatureSettings
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Token ids or frozen embeddings, once for all losses; and the tokenizer, for new texts."""
    from losslab.features.compute import compute_features, learn_tokenizer

    train = splits["text"].iloc[split_rows(splits, "train")]
    tokenizer = learn_tokenizer(settings.model, list(train))
    features = compute_features(settings.model, list(splits["text"]), tokenizer)
    return features, json.loads(tokenizer.to_str())


def compute_tfidf(
    splits: pd.DataFrame, settings: TfidfSettings
) -> tuple[sparse.csr_array, dict[str, Any]]:
    """TF-IDF of every document; vocabulary and idf of the training documents, for new texts, too."""
    from losslab.features.tfidf import learn_vocabulary, weigh_words

    train = splits["text"].iloc[split_rows(splits, "train")]
    vocabulary = learn_vocabulary(list(train), settings)
    return weigh_words(list(splits["text"]), vocabulary), vocabulary
