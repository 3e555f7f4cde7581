"""Label statistics: frequency, cardinality, imbalance, co-occurrence, frequency groups."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

GROUPS = ("head", "medium", "tail")


def describe_labels(targets: sparse.csr_array) -> dict[str, Any]:
    """Statistics of a label matrix, documents x labels.

    ``cardinality`` is labels per document, ``density`` that divided by the number of labels,
    ``imbalance_ratio`` the frequency of the most common label over that of the rarest present one.
    """
    documents, labels = targets.shape
    frequencies = label_frequencies(targets)
    present = frequencies[frequencies > 0]
    cardinality = float(targets.sum() / max(documents, 1))
    return {
        "documents": documents,
        "labels": labels,
        "cardinality": cardinality,
        "density": cardinality / max(labels, 1),
        "imbalance_ratio": float(present.max() / present.min()) if present.size else None,
        "labels_absent": int(labels - present.size),
        "documents_without_labels": int((np.diff(targets.indptr) == 0).sum()),
        "mu": rebalancing_mu(targets),
        "frequencies": frequencies.tolist(),
    }


def label_frequencies(targets: sparse.csr_array) -> np.ndarray:
    """Number of documents per label."""
    return np.asarray(targets.sum(axis=0), dtype=np.int64).ravel()


def cooccurrence(targets: sparse.csr_array) -> sparse.csr_array:
    """Co-occurrence counts, labels x labels; the diagonal has the label frequencies."""
    counts = targets.astype(np.int32)
    return sparse.csr_array(counts.T @ counts)


def frequency_groups(
    frequencies: Sequence[int], *, head_min: int | None = None, tail_max: int | None = None
) -> list[str]:
    """``head``, ``medium`` or ``tail`` for each label.

    Head: at least ``head_min`` documents; tail: at most ``tail_max``. Without both: thirds of the
    labels by frequency, ties in label order.

    >>> frequency_groups([40, 8, 20], head_min=35, tail_max=8)
    ['head', 'tail', 'medium']
    >>> frequency_groups([1, 9, 5])
    ['tail', 'head', 'medium']
    """
    counts = np.asarray(frequencies)
    if (head_min is None) != (tail_max is None):
        raise ValueError("give both head_min and tail_max, or neither")
    if head_min is not None and tail_max is not None:
        group = np.where(counts >= head_min, 0, np.where(counts <= tail_max, 2, 1))
    else:
        rank = np.empty(len(counts), dtype=int)
        rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
        group = rank * len(GROUPS) // max(len(counts), 1)
    return [GROUPS[index] for index in group]


def group_indices(groups: Sequence[str]) -> dict[str, list[int]]:
    """Label indices of head, medium and tail; ``groups`` has the group of each label.

    >>> group_indices(["head", "tail", "tail"])
    {'head': [0], 'medium': [], 'tail': [1, 2]}
    """
    members = np.array(groups)
    return {name: np.flatnonzero(members == name).tolist() for name in GROUPS}


def rebalancing_mu(targets: sparse.csr_array) -> float | None:
    """``mu="auto"`` of the distribution-balanced losses: (mean + median) / 2 of r.

    ``r = (1/n_c) / sum over the document's labels of 1/n_k``, over all (document, label) pairs;
    None where there is no pair.
    """
    if targets.nnz == 0:
        return None
    inverse = 1 / np.maximum(label_frequencies(targets), 1)
    per_document = targets @ inverse
    ratios = inverse[targets.indices] / np.repeat(per_document, np.diff(targets.indptr))
    return float((ratios.mean() + np.median(ratios)) / 2)


def tabulate_labels(
    labels: Sequence[str], groups: Sequence[str], **targets: sparse.csr_array
) -> pd.DataFrame:
    """One row per label, most frequent first: its group and its frequency in each given split."""
    counts = {split: label_frequencies(matrix) for split, matrix in targets.items()}
    table = pd.DataFrame({"label": labels, "group": groups, **counts})
    first = next(iter(counts))
    return table.sort_values([first, "label"], ascending=[False, True], ignore_index=True)
