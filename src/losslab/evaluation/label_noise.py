"""Likely mislabelled documents: gold labels that the losses together confidently contradict."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.evaluation.confusion import dense_rows, row_blocks

MIN_LOSSES = 3
"""Losses whose doubts are averaged, at least: one alone errs too often."""
MIN_DOUBT = 0.95
"""Mean doubt of a suspect: of labels flipped on purpose in CWE, a fifth of those found were flipped."""
COLUMNS = ("id", "text", "split", "label", "gold", "probability")


def doubt_labels(targets: sparse.csr_array, probabilities: np.ndarray) -> sparse.csr_array:
    """How far a loss contradicts gold labels: |y - p|, p the mean probability over seeds.

    Args:
        targets: documents x labels; ``probabilities``: seeds x documents x labels.

    Doubts up to 0.5 are no contradiction: they are left out, and so the matrix stays sparse.

    >>> doubt_labels(sparse.csr_array([[1, 0]]), np.array([[[0.25, 0.5]]])).toarray().tolist()
    [[0.75, 0.0]]
    """
    blocks = [sparse.csr_array((0, targets.shape[1]))]
    for block in row_blocks(*targets.shape):
        doubts = np.abs(dense_rows(targets, block) - probabilities[:, block].mean(axis=0))
        blocks.append(sparse.csr_array(np.where(doubts > 0.5, doubts, 0)))
    return sparse.csr_array(sparse.vstack(blocks, format="csr"))


def find_suspects(
    documents: pd.DataFrame,
    targets: sparse.csr_array,
    doubts: Mapping[str, sparse.csr_array],
    *,
    labels: Sequence[str],
) -> pd.DataFrame:
    """Gold labels, given or absent, of a mean doubt of ``MIN_DOUBT`` or more, the strongest first.

    Args:
        documents: ``id text split`` of the rows of all matrices.
        targets: documents x labels.
        doubts: by loss, see ``doubt_labels``.
        labels: their names.

    Returns ``id text split label gold probability``: that of the label, the mean over losses. None
    of fewer than ``MIN_LOSSES`` losses.
    """
    if len(doubts) < MIN_LOSSES:
        return pd.DataFrame(columns=list(COLUMNS))
    mean = sparse.coo_array(sum(doubts.values()) / len(doubts))
    strong = np.flatnonzero(mean.data >= MIN_DOUBT)
    strong = strong[np.argsort(-mean.data[strong], kind="stable")]
    rows, columns, doubt = mean.row[strong], mean.col[strong], mean.data[strong]
    gold = np.array([bool(targets[place]) for place in zip(rows, columns, strict=True)], dtype=bool)
    found = documents[["id", "text", "split"]].iloc[rows].reset_index(drop=True)
    return found.assign(
        label=[labels[label] for label in columns],
        gold=gold,
        probability=np.where(gold, 1 - doubt, doubt).round(3),
    )
