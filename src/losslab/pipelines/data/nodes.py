"""Raw files to documents, splits and the label matrix."""

import logging
from pathlib import Path
from typing import Any

import pandas as pd
from scipy import sparse

from losslab.data import (
    SPLITS,
    assign_splits,
    check_rejected,
    drop_rare_labels,
    encode_labels,
    label_space,
)
from losslab.data.corpus import check_one_label
from losslab.data.corpus_summary import (
    describe_labels,
    describe_rare_labels,
    examine_splits,
    summary_lines,
    tabulate_corpus,
)
from losslab.data.download.raw_folder import is_sample
from losslab.data.fingerprint import fingerprint_data
from losslab.data.readers import READERS
from losslab.data.split import lacks_train
from losslab.data.undersample import undersample
from losslab.parameters import SplitSettings, UndersampleSettings

logger = logging.getLogger(__name__)


def parse_corpus(
    raw_files: Path, dataset: str, reader: str | None, options: dict[str, Any]
) -> tuple[pd.DataFrame, dict[str, Any], pd.DataFrame]:
    """Read the raw files: rejected rows, notes on the reading, and the documents.

    The documents come last: they are validated when saved, and the others are there to see by then.
    """
    corpus = READERS[reader or dataset](raw_files, **options)
    notes = {**corpus.summary(), "sample": is_sample(raw_files)}
    logger.info(
        "%s: %s",
        dataset,
        "; ".join([describe_labels(corpus.documents["labels"]), *summary_lines(notes)]),
    )
    return corpus.rejected, notes, corpus.documents


def split_documents(
    documents: pd.DataFrame,
    corpus_notes: dict[str, Any],
    max_rejected: float,
    min_label_frequency: int,
    split: SplitSettings,
    undersampling: UndersampleSettings | None,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Drop rare labels, assign train, validation and test, undersample.

    Too many rejected rows end the run here and not while parsing, so that they have been saved.
    """
    check_rejected(corpus_notes, limit=max_rejected, details="rejected_rows")
    label_sets, dropped = drop_rare_labels(documents["labels"], min_label_frequency)
    kept = documents.assign(labels=label_sets) if dropped else documents
    splits = assign_splits(kept, **split.model_dump())
    rare = describe_rare_labels(kept["labels"]) if documents["split"].isna().any() else None
    if rare:
        logger.warning("%s (min_label_frequency=%d drops them)", rare, len(SPLITS))
    if undersampling is not None:
        splits = undersample(splits, **undersampling.model_dump()).reset_index(drop=True)
    return splits, {
        "dropped_labels": dropped,
        "documents_undersampled": len(kept) - len(splits),
        "split_anew": lacks_train(documents),
        "fold": f"{split.fold} of {split.folds}" if split.folds else None,
    }


def encode_label_sets(splits: pd.DataFrame, task: str) -> tuple[list[str], sparse.csr_array]:
    """The label space of all splits, and the label matrix: documents x labels."""
    if task == "single":
        check_one_label(splits)
    labels = label_space(splits["labels"])
    return labels, encode_labels(splits["labels"], labels)


def describe_corpus(
    splits: pd.DataFrame,
    label_matrix: sparse.csr_array,
    corpus_notes: dict[str, Any],
    split_notes: dict[str, Any],
    cardinality_limits: list[int],
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """The table of the corpus's sizes, and counts of what was left out or looks odd."""
    summary = {
        "labels_dropped": len(split_notes["dropped_labels"]),
        "documents_undersampled": split_notes["documents_undersampled"],
        "split_anew": split_notes["split_anew"],
        "fold": split_notes.get("fold"),
        **examine_splits(splits, label_matrix),
    }
    for sentence in summary_lines(summary):
        logger.info(sentence)
    read = {key: corpus_notes[key] for key in ("sample", "notes", "rejected", "excluded")}
    return tabulate_corpus(splits, label_matrix, cardinality_limits), {**read, **summary}


def fingerprint_corpus(
    splits: pd.DataFrame, label_matrix: sparse.csr_array, labels: list[str]
) -> dict[str, str]:
    """Hashes of the data, by which results on other data are recognised."""
    return fingerprint_data(splits, label_matrix, labels)
