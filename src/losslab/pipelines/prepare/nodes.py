"""From raw files to documents, splits, targets and features."""

import logging
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.corpora import READERS, assign_splits
from losslab.parameters import Recipes, SplitOptions
from losslab.targets import encode_labels, label_space

logger = logging.getLogger(__name__)


def parse_corpus(raw_files: Path, dataset: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the raw files: documents, and the rows that were set aside."""
    corpus = READERS[dataset](raw_files)
    logger.info(
        "%s: %d documents, %d rows set aside", dataset, len(corpus.documents), len(corpus.rejected)
    )
    return corpus.documents, corpus.rejected


def split_documents(parsed: pd.DataFrame, options: SplitOptions) -> pd.DataFrame:
    """Put every document into train, validation or test."""
    shares = options.model_dump(exclude={"seed"})
    return assign_splits(parsed, shares, seed=options.seed)


def encode_targets(documents: pd.DataFrame) -> tuple[list[str], sparse.csr_array]:
    """The label space, and documents x labels."""
    labels = label_space(documents["labels"])
    return labels, encode_labels(documents["labels"], labels)


def compute_features(
    documents: pd.DataFrame, recipe: str, recipes: Recipes
) -> dict[str, np.ndarray]:
    """What the recipe's model reads: for the probe, one frozen embedding per document."""
    from losslab.models.encoder import embed_texts

    chosen = getattr(recipes, recipe)
    texts = list(documents["text"])
    return {"embeddings": embed_texts(texts, encoder=chosen.encoder, max_length=chosen.max_length)}
