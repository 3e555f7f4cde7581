"""Exact search in blocks of questions: the rank of each positive among all candidates.

Memory is that of the candidates and one block of scores, whatever the number of questions. A
candidate with the same score as the positive counts as before it: ties never help a method.
"""

import logging
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from losslab.features.inputs import default_device

BLOCK_SCORES = 2**24
"""Scores in a block: 64 MB in float32."""


def positive_ranks(
    questions: np.ndarray,
    candidates: np.ndarray,
    positives: np.ndarray,
    *,
    block_scores: int = BLOCK_SCORES,
) -> np.ndarray:
    """The rank of each question's positive by dot product, 1 is first.

    Args:
        questions, candidates: embeddings, texts x dim.
        positives: for each question the row of its positive in ``candidates``.

    >>> candidates = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> positive_ranks(np.array([[1.0, 0.5], [1.0, 0.5]]), candidates, np.array([0, 1])).tolist()
    [1, 2]
    """
    ranks = np.empty(len(questions), dtype=np.int64)
    for rows, scores in score_blocks(questions, candidates, block_scores=block_scores):
        ranks[rows] = ranks_of(scores, positives[rows])
    return ranks


def score_blocks(
    questions: np.ndarray | Tensor,
    candidates: np.ndarray | Tensor,
    *,
    block_scores: int = BLOCK_SCORES,
) -> Iterator[tuple[slice, Tensor]]:
    """Dot products of all candidates with some questions at a time, on the default device."""
    device = default_device()
    queries, keys = (torch.as_tensor(each).to(device) for each in (questions, candidates))
    size = max(1, block_scores // max(len(keys), 1))
    for start in range(0, len(queries), size):
        rows = slice(start, start + size)
        yield rows, queries[rows] @ keys.T


def ranks_of(scores: Tensor, positives: np.ndarray) -> np.ndarray:
    """Ranks of the positives in scores, questions x candidates; what is NaN comes first."""
    columns = torch.from_numpy(positives).to(scores.device).unsqueeze(1)
    below: Tensor = (scores < scores.gather(1, columns)).sum(dim=1)
    return (scores.shape[1] - below).cpu().numpy()


def bm25_ranks(
    questions: Sequence[Sequence[str]],
    candidates: Sequence[Sequence[str]],
    positives: np.ndarray,
    *,
    k1: float,
    b: float,
) -> np.ndarray:
    """The rank of each question's positive by BM25 of their words, question by question."""
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)  # its import sets DEBUG
    index = bm25s.BM25(k1=k1, b=b)
    index.index([list(words) for words in candidates], show_progress=False)
    ranks = np.empty(len(questions), dtype=np.int64)
    for row, words in enumerate(questions):
        scores = index.get_scores(list(words)) if words else np.zeros(len(candidates))
        ranks[row] = np.count_nonzero(scores >= scores[positives[row]])
    return ranks
