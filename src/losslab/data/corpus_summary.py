"""Summary of a split corpus: its size by split, and counts of what may distort a comparison."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.data.split import SPLITS, split_rows

IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
WORD = re.compile(f"[{IDEOGRAPHS}]|[^\\s{IDEOGRAPHS}]+")
SAMPLE = "a sample of the corpus, too few rows for a result"
COUNTS = {
    "labels_dropped": "labels below min_label_frequency, dropped",
    "documents_undersampled": "training documents removed by undersample",
    "labels_only_in_test": "labels only in test",
    "labels_not_in_train": "labels without training documents",
}


def word_count(text: str) -> int:
    """Number of whitespace-separated words; a Chinese character counts as a word.

    >>> word_count("one two"), word_count("专利 A1")
    (2, 3)
    """
    return len(text.split()) if text.isascii() else len(WORD.findall(text))


def tabulate_corpus(documents: pd.DataFrame, targets: sparse.csr_array) -> pd.DataFrame:
    """One row for the whole corpus and one per split, as Table 2 of the ZLPR paper.

    ``categories`` is the number of labels in a split, ``cardinality`` labels per document,
    ``density`` cardinality / categories.
    """
    words = documents["text"].map(word_count).to_numpy()
    parts = {"all": np.arange(len(documents))}
    parts |= {name: split_rows(documents, name) for name in SPLITS}
    table = []
    for name, rows in parts.items():
        carried = targets[rows]
        categories = len(np.unique(carried.indices))
        cardinality = carried.nnz / max(len(rows), 1)
        table.append(
            {
                "split": name,
                "instances": len(rows),
                "average_words": words[rows].mean() if len(rows) else 0.0,
                "categories": categories,
                "cardinality": cardinality,
                "density": cardinality / max(categories, 1),
            }
        )
    return pd.DataFrame(table)


def examine_splits(documents: pd.DataFrame, targets: sparse.csr_array) -> dict[str, Any]:
    """Counts of labels not in train, documents without labels, and texts in several splits."""
    rows = {name: split_rows(documents, name) for name in SPLITS}
    present = {name: set(targets[part].indices.tolist()) for name, part in rows.items()}
    unlabelled = np.diff(targets.indptr) == 0
    hashes = np.array([hash(text.strip()) for text in documents["text"]])  # texts may be gigabytes
    return {
        "labels_only_in_test": len(present["test"] - present["train"] - present["validation"]),
        "labels_not_in_train": len((present["test"] | present["validation"]) - present["train"]),
        "documents_without_labels": {
            name: int(unlabelled[part].sum()) for name, part in rows.items()
        },
        "duplicate_texts": {
            later: {
                earlier: int(np.isin(hashes[rows[later]], hashes[rows[earlier]]).sum())
                for earlier in SPLITS[: SPLITS.index(later)]
            }
            for later in SPLITS[1:]
        },
    }


def summary_lines(summary: Mapping[str, Any]) -> list[str]:
    """Sample, fold and every count above zero, one line each, for the log and the report page."""
    fold = summary.get("fold")
    lines = [SAMPLE] if summary.get("sample") else []
    lines += [f"fold {fold}: one part is validation, the others train"] if fold else []
    counts = {
        **{f"rows rejected: {why}": rows for why, rows in summary.get("rejected", {}).items()},
        **{f"rows excluded: {why}": rows for why, rows in summary.get("excluded", {}).items()},
        **{meaning: summary.get(key, 0) for key, meaning in COUNTS.items()},
        **{
            f"{name} documents without labels": count
            for name, count in summary.get("documents_without_labels", {}).items()
        },
        **{
            f"{split} documents with a text that is also in {other}": count
            for split, duplicates in summary.get("duplicate_texts", {}).items()
            for other, count in duplicates.items()
        },
    }
    return lines + [f"{count:,} {meaning}" for meaning, count in counts.items() if count]
