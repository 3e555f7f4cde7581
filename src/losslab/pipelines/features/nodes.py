"""Documents to what models and baselines read."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.data.corpus import IMAGE_COLUMNS
from losslab.data.images import ImageFile
from losslab.data.split import split_rows
from losslab.parameters import (
    FeatureSettings,
    FrozenEncoder,
    FrozenImageEncoder,
    ImageSettings,
    TfidfSettings,
)


def embed_documents(
    documents: pd.DataFrame, encoder: FrozenEncoder | None
) -> dict[str, np.ndarray]:
    """Frozen embeddings of every document, however they are split; none if no model reads them."""
    from losslab.features.compute import embed_texts
    from losslab.features.encoder import encoder_tokenizer

    if encoder is None:
        return {}
    tokenizer = encoder_tokenizer(encoder.backbone, encoder.max_length)
    return {"embeddings": embed_texts(list(documents["text"]), tokenizer, encoder)}


def compute_features(
    splits: pd.DataFrame,
    documents: pd.DataFrame,
    embeddings: dict[str, np.ndarray],
    settings: FeatureSettings,
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Token ids or frozen embeddings, once for all losses; and the tokenizer, for new texts."""
    from losslab.features.compute import compute_features, learn_tokenizer

    train = splits["text"].iloc[split_rows(splits, "train")]
    tokenizer = learn_tokenizer(settings.model, list(train))
    rows = pd.Index(documents["id"]).get_indexer(splits["id"])
    known = embeddings["embeddings"][rows] if embeddings else None
    features = compute_features(settings.model, list(splits["text"]), tokenizer, known)
    return features, json.loads(tokenizer.to_str())


def embed_images(
    documents: pd.DataFrame, raw_files: Path, encoder: FrozenImageEncoder | None
) -> dict[str, np.ndarray]:
    """Frozen embeddings of every image, however they are split; none if no model reads them."""
    from losslab.features import pixels

    if encoder is None:
        return {}
    return {"embeddings": pixels.embed_images(raw_files, _image_files(documents), encoder)}


def decode_images(
    splits: pd.DataFrame,
    documents: pd.DataFrame,
    embeddings: dict[str, np.ndarray],
    raw_files: Path,
    settings: FeatureSettings,
) -> dict[str, Any]:
    """Frozen embeddings, or the pixels of every image as ``ArrayBlocks``, once for all losses."""
    from losslab.features.pixels import image_array

    if embeddings:
        rows = pd.Index(documents["id"]).get_indexer(splits["id"])
        return {"embeddings": embeddings["embeddings"][rows]}
    if not isinstance(settings.model, ImageSettings):
        raise TypeError(f"no images for {type(settings.model).__name__}")
    return {"pixels": image_array(raw_files, _image_files(splits), settings.model.image_size)}


def _image_files(documents: pd.DataFrame) -> list[ImageFile]:
    return [ImageFile(*row) for row in documents[IMAGE_COLUMNS].itertuples(index=False)]


def compute_tfidf(
    splits: pd.DataFrame, settings: TfidfSettings
) -> tuple[sparse.csr_array, dict[str, Any]]:
    """TF-IDF of every document; vocabulary and idf of the training documents, for new texts, too."""
    from losslab.features.tfidf import learn_vocabulary, weigh_words

    train = splits["text"].iloc[split_rows(splits, "train")]
    vocabulary = learn_vocabulary(list(train), settings)
    return weigh_words(list(splits["text"]), vocabulary), vocabulary
