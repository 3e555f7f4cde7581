"""Documents to what the recipe's model reads."""

import json
from typing import Any

import numpy as np
import pandas as pd

from losslab.data.split import split_rows
from losslab.parameters import FeatureSettings


def compute_features(
    splits: pd.DataFrame, settings: FeatureSettings
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Token ids or frozen embeddings, once for all losses; and the tokenizer, for new texts."""
    from losslab.features.compute import compute_features, learn_tokenizer

    train = splits["text"].iloc[split_rows(splits, "train")]
    tokenizer = learn_tokenizer(settings.model, list(train))
    features = compute_features(settings.model, list(splits["text"]), tokenizer)
    return features, json.loads(tokenizer.to_str())
