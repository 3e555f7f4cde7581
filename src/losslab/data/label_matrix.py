"""The label space of a corpus, and its label matrix (multi-hot, sparse)."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from scipy import sparse


def label_space(label_sets: Iterable[Iterable[str]]) -> list[str]:
    """All labels, sorted: the columns of label matrices and logits.

    >>> label_space([["b"], ["a", "b"], []])
    ['a', 'b']
    """
    return sorted({label for labels in label_sets for label in labels})


def encode_labels(label_sets: Sequence[Iterable[str]], labels: Sequence[str]) -> sparse.csr_array:
    """Multi-hot label matrix, documents x labels.

    >>> encode_labels([["b"], ["a", "b"], []], ["a", "b"]).toarray().tolist()
    [[0, 1], [1, 1], [0, 0]]
    """
    column = {label: index for index, label in enumerate(labels)}
    indices = [sorted({column[label] for label in carried}) for carried in label_sets]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in indices])])
    flat = np.array([index for row in indices for index in row], dtype=np.int32)
    data = np.ones(len(flat), dtype=np.int8)
    return sparse.csr_array((data, flat, indptr), shape=(len(indices), len(labels)))


def drop_rare_labels(
    label_sets: Iterable[Iterable[str]], minimum: int
) -> tuple[list[list[str]], dict[str, int]]:
    """Label sets without labels of frequency below ``minimum``; the dropped labels' frequencies.

    >>> drop_rare_labels([["a", "b"], ["b"]], 2)
    ([['b'], ['b']], {'a': 1})
    """
    kept = [list(labels) for labels in label_sets]
    frequencies = Counter(label for labels in kept for label in set(labels))
    rare = {label: count for label, count in frequencies.items() if count < minimum}
    return [[label for label in labels if label not in rare] for labels in kept], rare
