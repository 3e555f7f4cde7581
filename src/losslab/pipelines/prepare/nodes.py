"""From raw files to documents, splits, targets and features."""

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.data import assign_splits, check_rejected, drop_rare_labels, encode_labels, label_space
from losslab.data.readers import READERS
from losslab.data.summary import check_one_label, tell
from losslab.data.undersample import undersample
from losslab.parameters import Recipes, SplitSettings, UndersampleSettings

logger = logging.getLogger(__name__)


REJECTED = "data/02_intermediate/{dataset}/rejected.csv"
"""Where the catalog keeps the rejected rows."""


def parse_corpus(
    raw_files: Path, dataset: str, reader: str | None, options: dict[str, Any]
) -> tuple[pd.DataFrame, dict[str, Any], pd.DataFrame]:
    """Read the raw files: the rows that were set aside, an account of all, and the documents.

    The documents come last, as they are checked when saved: by then the others are there to see.
    """
    corpus = READERS[reader or dataset](raw_files, **options)
    account = corpus.account()
    logger.info(
        "%s: %s", dataset, "; ".join([f"{len(corpus.documents):,} documents", *tell(account)])
    )
    return corpus.rejected, account, corpus.documents


def split_documents(
    parsed: pd.DataFrame,
    corpus_notes: dict[str, Any],
    dataset: str,
    max_rejected: float,
    min_label_frequency: int,
    rule: SplitSettings,
    unbalance: UndersampleSettings | None,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Drop rare labels, put every document into train, validation or test, make labels rare.

    Here and not while parsing a corpus with too many broken rows ends the run, so that they have
    been saved.
    """
    check_rejected(corpus_notes, limit=max_rejected, file=REJECTED.format(dataset=dataset))
    label_sets, dropped = drop_rare_labels(parsed["labels"], min_label_frequency)
    if dropped:
        parsed = parsed.assign(labels=label_sets)
    documents = assign_splits(parsed, **rule.model_dump())
    if unbalance is not None:
        documents = undersample(documents, **unbalance.model_dump()).reset_index(drop=True)
    return documents, {
        "dropped_labels": dropped,
        "documents_undersampled": len(parsed) - len(documents),
        "fold": f"{rule.fold} of {rule.folds}" if rule.folds else None,
    }


def encode_targets(documents: pd.DataFrame, task: str) -> tuple[list[str], sparse.csr_array]:
    """The label space of all splits, and documents x labels."""
    if task == "single":
        check_one_label(documents)
    labels = label_space(documents["labels"])
    return labels, encode_labels(documents["labels"], labels)


def compute_features(
    documents: pd.DataFrame, recipe: str, recipes: Recipes
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What the recipe's model reads, once for all losses, and the tokenizer that new texts need."""
    from losslab.features.compute import compute_features, learn_tokenizer

    chosen = getattr(recipes, recipe)
    tokenizer = learn_tokenizer(chosen, list(documents.loc[documents["split"] == "train", "text"]))
    features = compute_features(chosen, list(documents["text"]), tokenizer)
    return features, json.loads(tokenizer.to_str())
