"""Putting documents into train, validation and test where a corpus does not say."""

from collections.abc import Mapping, Sequence
from hashlib import sha256

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.data.labels import encode_labels, label_space
from losslab.errors import CorpusError

SPLITS = ("train", "validation", "test")


def assign_splits(
    documents: pd.DataFrame,
    *,
    validation: float,
    test: float,
    by: str = "stratified",
    together: str | None = None,
    folds: int | None = None,
    fold: int = 1,
    seed: int,
) -> pd.DataFrame:
    """Fill the ``split`` column; splits a corpus prescribes stay.

    A split that is missing is taken out of the documents without one, or, where all have one, out
    of train. ``validation`` and ``test`` are shares of those documents, or counts from 1 on; train
    gets the rest. ``by="stratified"`` shares out every label as evenly as can be, ``by="hash"``
    decides by a document's id alone, or by what stands before the last ``together`` in it. The
    order of the rows is immaterial to both. With ``folds``, what is not test is dealt out anew:
    part ``fold`` of so many is validation.
    """
    filled = _fill(documents, {"validation": validation, "test": test}, by, together, seed)
    if folds is None:
        return filled
    pool = filled[filled["split"] != "test"]
    shares = {str(part): 1 / folds for part in range(1, folds + 1)}
    parts = _deal(pool, shares, by, together, ~seed)  # another hash than the one that chose test
    split = filled["split"].astype(object)
    split.loc[pool.index] = np.where(parts == str(fold), "validation", "train")
    return filled.assign(split=split)


def _fill(
    documents: pd.DataFrame, asked: Mapping[str, float], by: str, together: str | None, seed: int
) -> pd.DataFrame:
    """Take the splits that are missing out of the documents without one, or out of train."""
    given = set(documents["split"].dropna())
    sizes = {name: size for name, size in asked.items() if name not in given}
    unassigned = documents["split"].isna()
    pool = documents[unassigned if unassigned.any() else documents["split"] == "train"]
    if pool.empty or not (sizes or unassigned.any()):
        return documents
    shares = shares_of(len(pool), sizes)
    split = documents["split"].astype(object)
    split.loc[pool.index] = _deal(pool, shares, by, together, seed)
    return documents.assign(split=split)


def _deal(
    pool: pd.DataFrame, shares: Mapping[str, float], by: str, together: str | None, seed: int
) -> np.ndarray:
    """The part of each document of ``pool``."""
    if by != "hash":
        return deal_evenly(pool, shares, seed=seed)
    names = [name.rsplit(together, 1)[0] if together else name for name in pool["id"]]
    return deal_by_hash(names, shares, seed=seed)


def shares_of(rows: int, sizes: Mapping[str, float]) -> dict[str, float]:
    """Sizes given as shares or counts, as shares of ``rows``; train's is what they leave.

    >>> shares_of(8, {"validation": 2, "test": 0.25})
    {'train': 0.5, 'validation': 0.25, 'test': 0.25}
    """
    shares = {name: size if size < 1 else size / rows for name, size in sizes.items()}
    rest = 1 - sum(shares.values())
    if rest * rows < 1e-6:
        asked = ", ".join(f"{name} {size:g}" for name, size in sizes.items())
        raise CorpusError(f"{rows} documents to split leave none to train on: asked for {asked}")
    return {"train": rest, **shares}


def deal_evenly(documents: pd.DataFrame, shares: Mapping[str, float], *, seed: int) -> np.ndarray:
    """The split of each document: exact sizes, every label shared as evenly as can be."""
    order = np.argsort([stable_rank(name, seed) for name in documents["id"]])
    label_sets = documents["labels"].iloc[order]
    targets = encode_labels(label_sets, label_space(label_sets))
    split = np.empty(len(documents), dtype=object)
    parts = stratify(targets, part_sizes(len(documents), list(shares.values())))
    split[order] = np.array(list(shares))[parts]
    return split


def deal_by_hash(names: Sequence[str], shares: Mapping[str, float], *, seed: int) -> np.ndarray:
    """The split of each name by itself: others may come and go.

    The sizes are those of ``shares`` on average, not exactly.
    """
    ranks = [int.from_bytes(stable_rank(name, seed)[:6], "big") for name in names]
    bounds = np.cumsum([*shares.values()][:-1])
    return np.array([*shares], dtype=object)[np.digitize(np.array(ranks) / 2**48, bounds)]


def stable_rank(name: str, seed: int) -> bytes:
    """A reproducible pseudo-random sort key, the same on every machine and version."""
    return sha256(f"{seed}:{name}".encode()).digest()


def stratify(targets: sparse.csr_array, sizes: Sequence[int] | np.ndarray) -> np.ndarray:
    """Assign each row to a part of the given size, every label as evenly as can be.

    Sechidis et al. 2011, On the Stratification of Multi-Label Data: the rarest label left is dealt
    out first, each of its rows to the part that lacks most of that label, then most rows. Unlike
    there, a part that is full takes no more rows.

    Returns the part of each row.
    """
    rows = targets.shape[0]
    room = np.array(sizes)
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
