"""Hashes of a corpus, by which results on other data are recognised."""

import hashlib
from collections.abc import Iterable

import numpy as np
import pandas as pd
from scipy import sparse


def fingerprint_data(
    documents: pd.DataFrame, targets: sparse.csr_array, label_space: list[str]
) -> dict[str, str]:
    """A short hash each of ids, texts, splits, targets and label space."""
    matrix = sparse.csr_array(targets)
    matrix.sum_duplicates()
    return {
        **{name: digest(documents[name].astype(str)) for name in ("id", "text", "split")},
        "targets": digest([_hash_integers(matrix.indptr), _hash_integers(matrix.indices)]),
        "label_space": digest(label_space),
    }


def digest(texts: Iterable[str]) -> str:
    """A short hash of texts with their lengths, so that shifted boundaries change it."""
    sha = hashlib.sha256()
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        sha.update(len(encoded).to_bytes(8, "little") + encoded)
    return sha.hexdigest()[:12]


def _hash_integers(values: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(values, dtype="<i8").tobytes()).hexdigest()
