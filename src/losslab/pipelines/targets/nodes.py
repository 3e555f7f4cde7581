"""What the training split says about its labels."""

import logging
from typing import Any

import pandas as pd
from scipy import sparse

from losslab.data import SPLITS
from losslab.data.summary import examine_splits, tabulate_corpus, tell
from losslab.evaluation import fingerprint_data
from losslab.parameters import FrequencyGroupSettings
from losslab.supervision import cooccurrence, describe_labels, frequency_groups, tabulate_labels

logger = logging.getLogger(__name__)


def compute_label_statistics(
    targets: sparse.csr_array,
    label_space: list[str],
    documents: pd.DataFrame,
    options: FrequencyGroupSettings,
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Figures of the training labels, and a table with a row per label."""
    parts = {name: targets[(documents["split"] == name).to_numpy()] for name in SPLITS}
    statistics = describe_labels(parts["train"])
    groups = frequency_groups(statistics["frequencies"], **options.model_dump())
    return {**statistics, "groups": groups}, tabulate_labels(label_space, groups, **parts)


def describe_corpus(
    documents: pd.DataFrame,
    targets: sparse.csr_array,
    corpus_notes: dict[str, Any],
    split_notes: dict[str, Any],
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The table of the corpus's sizes, and counts of all that was set aside or looks odd."""
    found = {
        "labels_dropped": len(split_notes["dropped_labels"]),
        "documents_undersampled": split_notes["documents_undersampled"],
        "fold": split_notes.get("fold"),
        **examine_splits(documents, targets),
    }
    for sentence in tell(found):
        logger.info(sentence)
    read = {key: corpus_notes[key] for key in ("notes", "rejected", "left_out")}
    return tabulate_corpus(documents, targets), {**read, **found}


def count_cooccurrence(targets: sparse.csr_array, documents: pd.DataFrame) -> sparse.csr_array:
    """How many training documents carry each pair of labels."""
    return cooccurrence(targets[(documents["split"] == "train").to_numpy()])


def fingerprint_corpus(
    documents: pd.DataFrame, targets: sparse.csr_array, label_space: list[str]
) -> dict[str, str]:
    """Short hashes of the data, by which results on other data are recognised."""
    return fingerprint_data(documents, targets, label_space)
