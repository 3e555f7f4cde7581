"""Splitting a corpus that prescribes no split: iterative stratification for multi-label data."""

from collections.abc import Mapping, Sequence
from hashlib import sha256

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.targets.labels import encode_labels, label_space

SPLITS = ("train", "validation", "test")


def assign_splits(
    documents: pd.DataFrame, shares: Mapping[str, float], *, seed: int
) -> pd.DataFrame:
    """Fill the ``split`` column of documents that have none; given splits stay.

    A corpus that prescribes its test (or validation) split gets no more documents there: the rest
    goes to train and to the splits it does not prescribe, in the proportion of their shares.
    The result depends on ids, labels, shares and seed, not on the order of the rows.
    """
    unassigned = documents[documents["split"].isna()]
    if unassigned.empty:
        return documents
    order = np.argsort([stable_rank(name, seed) for name in unassigned["id"]])
    shuffled = unassigned.iloc[order]
    labels = label_space(shuffled["labels"])
    given = set(documents["split"].dropna()) - {"train"}
    open_splits = [name for name in SPLITS if name not in given]
    targets = encode_labels(shuffled["labels"], labels)
    parts = stratify(targets, [shares[name] for name in open_splits])
    split = documents["split"].astype(object)
    split.loc[shuffled.index] = np.array(open_splits)[parts]
    return documents.assign(split=split)


def stable_rank(name: str, seed: int) -> bytes:
    """A reproducible pseudo-random sort key, the same on every machine and version."""
    return sha256(f"{seed}:{name}".encode()).digest()


def stratify(targets: sparse.csr_array, shares: Sequence[float]) -> np.ndarray:
    """Assign each row to a part: rows are shared exactly, every label as evenly as can be.

    Sechidis et al. 2011, On the Stratification of Multi-Label Data: the rarest label left is dealt
    out first, each of its rows to the part that lacks most of that label, then most rows. Unlike
    there, a part that is full takes no more rows.

    Returns the part of each row.
    """
    rows = targets.shape[0]
    room = part_sizes(rows, shares)
    by_label = sparse.csc_array(targets)
    left = np.asarray(by_label.sum(axis=0), dtype=int)
    wanted = np.outer(room / max(rows, 1), left)
    parts = np.full(rows, -1)
    while (left > 0).any():
        label = np.argmin(np.where(left > 0, left, rows + 1))
        for row in by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]:
            if parts[row] < 0:
                part = np.lexsort((room, wanted[:, label], room > 0))[-1]
                carried = targets.indices[targets.indptr[row] : targets.indptr[row + 1]]
                parts[row] = part
                wanted[part, carried] -= 1
                room[part] -= 1
                left[carried] -= 1
    parts[parts < 0] = np.repeat(np.arange(len(room)), room)
    return parts


def part_sizes(rows: int, shares: Sequence[float]) -> np.ndarray:
    """Whole numbers that sum to ``rows`` in the proportion of ``shares``, by largest remainder.

    >>> part_sizes(10, [0.7, 0.15, 0.15]).tolist()
    [7, 2, 1]
    """
    exact = np.asarray(shares, dtype=float) / np.sum(shares) * rows
    sizes = np.floor(exact + 1e-9).astype(int)
    for part in np.argsort(-(exact - sizes), kind="stable")[: rows - sizes.sum()]:
        sizes[part] += 1
    return sizes
