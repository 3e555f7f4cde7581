"""Train, validation and test splits where a corpus does not prescribe them."""

from collections.abc import Mapping, Sequence
from hashlib import sha256

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.data.label_matrix import encode_labels, label_space
from losslab.errors import CorpusError

SPLITS = ("train", "validation", "test")


def assign_splits(
    documents: pd.DataFrame,
    *,
    validation: float,
    test: float,
    by: str = "stratified",
    group_separator: str | None = None,
    folds: int | None = None,
    fold: int = 1,
    seed: int,
) -> pd.DataFrame:
    """Fill the ``split`` column; prescribed splits are kept.

    A missing split is taken from the documents without a split or, if all have one, from train.
    Where none is given for train (a sample may be the test file alone), all are split anew.
    ``validation`` and ``test`` are shares of those documents, or counts if >= 1; the rest is train.
    ``by="stratified"`` is iterative stratification; ``by="hash"`` depends on a document's id alone,
    or on its part before the last ``group_separator``. Neither depends on the order of rows. With
    ``folds`` (cross-validation), fold ``fold`` of all that is not test is validation.
    """
    sizes = {"validation": validation, "test": test}
    if lacks_train(documents):
        documents = documents.assign(split=None)
    filled = _fill(documents, sizes, by, group_separator, seed)
    if folds is None:
        return filled
    pool = filled[filled["split"] != "test"]
    shares = {str(part): 1 / folds for part in range(1, folds + 1)}
    parts = _deal(pool, shares, by, group_separator, ~seed)  # independent of the draw of test
    split = filled["split"].astype(object)
    split.loc[pool.index] = np.where(parts == str(fold), "validation", "train")
    return filled.assign(split=split)


def lacks_train(documents: pd.DataFrame) -> bool:
    """Whether every document has a prescribed split, and none of them is train.

    >>> lacks_train(pd.DataFrame({"split": ["test", "test"]}))
    True
    >>> lacks_train(pd.DataFrame({"split": ["test", None]}))
    False
    """
    return set(documents["split"].unique()) <= {"validation", "test"} and len(documents) > 0


def split_rows(documents: pd.DataFrame, split: str) -> np.ndarray:
    """Row indices of a split, ascending.

    >>> split_rows(pd.DataFrame({"split": ["train", "test", "train"]}), "train").tolist()
    [0, 2]
    """
    return np.flatnonzero(documents["split"] == split)


def _fill(
    documents: pd.DataFrame,
    requested: Mapping[str, float],
    by: str,
    group_separator: str | None,
    seed: int,
) -> pd.DataFrame:
    """Take missing splits from the documents without a split, or from train."""
    given = set(documents["split"].dropna())
    sizes = {name: size for name, size in requested.items() if name not in given}
    unassigned = documents["split"].isna()
    rows = np.flatnonzero(unassigned) if unassigned.any() else split_rows(documents, "train")
    pool = documents.iloc[rows]
    if pool.empty or not (sizes or unassigned.any()):
        return documents
    shares = shares_of(len(pool), sizes)
    split = documents["split"].astype(object)
    split.loc[pool.index] = _deal(pool, shares, by, group_separator, seed)
    return documents.assign(split=split)


def _deal(
    pool: pd.DataFrame,
    shares: Mapping[str, float],
    by: str,
    group_separator: str | None,
    seed: int,
) -> np.ndarray:
    """The part of each document of ``pool``."""
    if by != "hash":
        return stratified_split(pool, shares, seed=seed)
    groups = [
        name.rsplit(group_separator, 1)[0] if group_separator else name for name in pool["id"]
    ]
    return hash_split(groups, shares, seed=seed)


def shares_of(rows: int, sizes: Mapping[str, float]) -> dict[str, float]:
    """Shares or counts as shares of ``rows``; train gets the rest.

    >>> shares_of(8, {"validation": 2, "test": 0.25})
    {'train': 0.5, 'validation': 0.25, 'test': 0.25}
    """
    shares = {name: size if size < 1 else size / rows for name, size in sizes.items()}
    rest = 1 - sum(shares.values())
    if rest * rows < 1e-6:
        requested = ", ".join(f"{name} {size:g}" for name, size in sizes.items())
        raise CorpusError(f"{rows} documents leave none for train: requested {requested}")
    return {"train": rest, **shares}


def stratified_split(
    documents: pd.DataFrame, shares: Mapping[str, float], *, seed: int
) -> np.ndarray:
    """The split of each document by iterative stratification; sizes are exact."""
    order = np.argsort([stable_rank(name, seed) for name in documents["id"]])
    label_sets = documents["labels"].iloc[order]
    targets = encode_labels(label_sets, label_space(label_sets))
    split = np.empty(len(documents), dtype=object)
    parts = stratify(targets, part_sizes(len(documents), list(shares.values())))
    split[order] = np.array(list(shares))[parts]
    return split


def hash_split(names: Sequence[str], shares: Mapping[str, float], *, seed: int) -> np.ndarray:
    """The split of each name by its hash, whatever the other names; sizes hold in expectation."""
    ranks = [int.from_bytes(stable_rank(name, seed)[:6], "big") for name in names]
    bounds = np.cumsum([*shares.values()][:-1])
    return np.array([*shares], dtype=object)[np.digitize(np.array(ranks) / 2**48, bounds)]


def stable_rank(name: str, seed: int) -> bytes:
    """A pseudo-random sort key, the same on every machine and version."""
    return sha256(f"{seed}:{name}".encode()).digest()


def stratify(targets: sparse.csr_array, sizes: Sequence[int] | np.ndarray) -> np.ndarray:
    """The part of each row by iterative stratification, with parts of the given sizes.

    Sechidis et al. 2011, On the Stratification of Multi-Label Data: rows of the rarest remaining
    label go first, each to the part with the largest deficit of that label, then of rows. Unlike
    there, a full part takes no more rows.
    """
    rows = targets.shape[0]
    room = np.array(sizes)
    by_label = sparse.csc_array(targets)
    left = np.asarray(by_label.sum(axis=0), dtype=int)
    deficit = np.outer(room / max(rows, 1), left)
    parts = np.full(rows, -1)
    while (left > 0).any():
        label = np.argmin(np.where(left > 0, left, rows + 1))
        for row in by_label.indices[by_label.indptr[label] : by_label.indptr[label + 1]]:
            if parts[row] < 0:
                part = np.lexsort((room, deficit[:, label], room > 0))[-1]
                carried = targets.indices[targets.indptr[row] : targets.indptr[row + 1]]
                parts[row] = part
                deficit[part, carried] -= 1
                room[part] -= 1
                left[carried] -= 1
    parts[parts < 0] = np.repeat(np.arange(len(room)), room)
    return parts


def part_sizes(rows: int, shares: Sequence[float]) -> np.ndarray:
    """Integers that sum to ``rows`` in proportion to ``shares``, by largest remainder.

    >>> part_sizes(10, [0.7, 0.15, 0.15]).tolist()
    [7, 2, 1]
    """
    exact = np.asarray(shares, dtype=float) / np.sum(shares) * rows
    sizes = np.asarray(np.floor(exact + 1e-9), dtype=int)
    for part in np.argsort(-(exact - sizes), kind="stable")[: rows - sizes.sum()]:
        sizes[part] += 1
    return sizes
