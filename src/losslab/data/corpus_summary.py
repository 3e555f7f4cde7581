"""Summary of a split corpus: its size by split, and counts of what may distort a comparison."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.data.split import SPLITS, split_rows

IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
WORD = re.compile(f"[{IDEOGRAPHS}]|[^\\s{IDEOGRAPHS}]+")
SAMPLE = "a sample of the corpus, too few rows for a result"
SPLIT_ANEW = "no training documents were given: all are split anew, unlike in the papers"
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


def describe_labels(label_sets: Sequence[Sequence[str]]) -> str:
    """How many documents and labels there are, and the rarest label with its documents.

    >>> describe_labels([["a", "b"], ["a"], []])
    '3 documents, 2 labels, 1.0 per document, rarest: b (1)'
    """
    counts = Counter(label for labels in label_sets for label in labels)
    documents = f"{len(label_sets):,} document{'s' * (len(label_sets) != 1)}"
    if not counts:
        return f"{documents}, no labels"
    rarest, frequency = min(counts.items(), key=lambda each: (each[1], each[0]))
    ties = sum(count == frequency for count in counts.values()) - 1
    more = f" and {ties:,} more" if ties else ""
    return (
        f"{documents}, {len(counts):,} label{'s' * (len(counts) != 1)}, "
        f"{counts.total() / len(label_sets):.1f} per document, "
        f"rarest: {rarest[:60]}{more} ({frequency:,})"
    )


def describe_rare_labels(label_sets: Sequence[Sequence[str]]) -> str | None:
    """Labels of fewer documents than there are splits to deal them to; None without any.

    >>> describe_rare_labels([["a", "b"], ["a"], ["a"]])
    "1 of 2 labels have fewer than 3 documents, such as 'b': not every split has them"
    """
    counts = Counter(label for labels in label_sets for label in labels)
    rare = sorted(label for label, count in counts.items() if count < len(SPLITS))
    if not rare:
        return None
    return (
        f"{len(rare):,} of {len(counts):,} labels have fewer than {len(SPLITS)} documents, such as "
        f"{rare[0][:60]!r}: not every split has them"
    )


def cardinality_bands(limits: Sequence[int]) -> dict[str, tuple[int, float]]:
    """Bands of labels per document: the least and the most by name. Each limit ends a band.

    Documents without labels are in none.

    >>> cardinality_bands([1])
    {'1 label': (1, 1), '2 labels or more': (2, inf)}
    >>> list(cardinality_bands([9, 14]))
    ['up to 9 labels', '10 to 14 labels', '15 labels or more']
    """
    starts, ends = [1, *(limit + 1 for limit in limits)], [*limits, math.inf]
    return {_band(low, high): (low, high) for low, high in zip(starts, ends, strict=True)}


def _band(low: int, high: float) -> str:
    if high == math.inf:
        return f"{low} label{'s' * (low > 1)} or more"
    if low == high:
        return f"{low} label{'s' * (low > 1)}"
    return f"up to {high} labels" if low == 1 else f"{low} to {high} labels"


def tabulate_corpus(
    documents: pd.DataFrame, targets: sparse.csr_array, limits: Sequence[int]
) -> pd.DataFrame:
    """One row for the whole corpus and one per split, as Table 2 of the ZLPR paper.

    ``categories`` is the number of labels in a split, ``cardinality`` labels per document,
    ``density`` cardinality / categories. ``instances_per_label`` is over labels of the split, as in
    Table 1 of Huang et al. The last columns are documents by ``cardinality_bands`` of ``limits``.
    """
    words = documents["text"].map(word_count).to_numpy()
    parts = {"all": np.arange(len(documents))}
    parts |= {name: split_rows(documents, name) for name in SPLITS}
    table = []
    for name, rows in parts.items():
        average_words = words[rows].mean() if len(rows) else 0.0
        sizes = {"split": name, "instances": len(rows), "average_words": average_words}
        table.append(sizes | _label_sizes(targets[rows], limits))
    return pd.DataFrame(table)


def _label_sizes(targets: sparse.csr_array, limits: Sequence[int]) -> dict[str, float]:
    """Labels, labels per document and documents per label of a split, documents by band."""
    per_document = np.diff(targets.indptr)
    per_label = np.unique(targets.indices, return_counts=True)[1]
    cardinality = targets.nnz / max(len(per_document), 1)
    return {
        "categories": len(per_label),
        "cardinality": cardinality,
        "median_cardinality": float(np.median(per_document)) if len(per_document) else 0.0,
        "density": cardinality / max(len(per_label), 1),
        "instances_per_label": targets.nnz / max(len(per_label), 1),
        "median_instances_per_label": float(np.median(per_label)) if len(per_label) else 0.0,
        **{
            name: int(((per_document >= low) & (per_document <= high)).sum())
            for name, (low, high) in cardinality_bands(limits).items()
        },
    }


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
    lines += [SPLIT_ANEW] if summary.get("split_anew") else []
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
