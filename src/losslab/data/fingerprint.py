"""Hashes of a corpus, by which results on other data are recognised."""

import hashlib
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.data.split import split_rows


def fingerprint_data(
    documents: pd.DataFrame, targets: sparse.csr_array, label_space: list[str]
) -> dict[str, str]:
    """A short hash each of ids, texts, splits, targets, label space, and of all the test split has.

    Where documents are images also of these.
    """
    matrix = sparse.csr_array(targets)
    matrix.sum_duplicates()
    test = split_rows(documents, "test")
    images = [name for name in ("image_sha256",) if name in documents]
    return {
        **{name: digest(documents[name].astype(str)) for name in ("id", "text", "split", *images)},
        "targets": digest(_hash_matrix(matrix)),
        "label_space": digest(label_space),
        "test": digest([*_contents(documents.iloc[test], images), *_hash_matrix(matrix[test])]),
    }


def hash_arrays(arrays: Mapping[str, np.ndarray]) -> str:
    """A short hash of named arrays: names, types, shapes and values."""
    sha = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        sha.update(f"{name} {array.dtype.str} {array.shape}".encode())
        contiguous = np.ascontiguousarray(array).reshape(-1)
        sha.update(contiguous.view(np.uint8).data)  # no copy: it may be mapped
    return sha.hexdigest()[:12]


def digest(texts: Iterable[str]) -> str:
    """A short hash of texts with their lengths, so that shifted boundaries change it."""
    sha = hashlib.sha256()
    for text in texts:
        encoded = text.encode("utf-8", "surrogatepass")
        sha.update(len(encoded).to_bytes(8, "little") + encoded)
    return sha.hexdigest()[:12]


def _contents(documents: pd.DataFrame, images: list[str]) -> list[str]:
    return [each for name in ("id", "text", *images) for each in documents[name].astype(str)]


def _hash_matrix(matrix: sparse.csr_array) -> list[str]:
    return [_hash_integers(matrix.indptr), _hash_integers(matrix.indices)]


def _hash_integers(values: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(values, dtype="<i8").tobytes()).hexdigest()
