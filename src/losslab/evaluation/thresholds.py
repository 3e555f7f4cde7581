"""One threshold for all labels, tuned on validation: the protocol of Huang et al. 2021."""

from collections.abc import Mapping

import numpy as np

from losslab.evaluation.counts import (
    Counts,
    Matrix,
    count,
    dense_rows,
    macro_f1,
    micro_f1,
    row_blocks,
)


def threshold_grid(start: float, stop: float, step: float) -> np.ndarray:
    """The thresholds to try, from ``start`` on and never above ``stop``.

    >>> threshold_grid(0.4, 0.6, 0.1).tolist()
    [0.4, 0.5, 0.6]
    """
    return np.round(np.arange(int((stop - start) / step + 1e-9) + 1) * step + start, 10)


def tune_threshold(targets: Matrix, scores: np.ndarray, grid: np.ndarray | None) -> float:
    """The threshold of best micro-F1 under ``score > threshold``; the lowest wins a tie.

    Tried are those of ``grid`` or, for scores without a natural cut, all there are.
    """
    if targets.shape != scores.shape:
        raise ValueError(f"targets {targets.shape} and scores {scores.shape} differ")
    if grid is None:
        return best_cut(dense_rows(targets, slice(None)), scores)
    totals = np.zeros((len(grid), 3), dtype=np.int64)
    for block in row_blocks(*scores.shape):
        truth, part = dense_rows(targets, block), scores[block]
        totals += np.array([count(truth, part > cut, axis=None) for cut in grid])
    reached = [micro_f1((hits, wrong, missed)) for hits, wrong, missed in totals]
    return float(grid[int(np.argmax(reached))])


def best_cut(truth: np.ndarray, scores: np.ndarray) -> float:
    """The cut of best micro-F1 among all; half-way between the scores it separates.

    >>> best_cut(np.array([[True, False]]), np.array([[3.0, 1.0]]))
    2.0
    """
    return float(label_cuts(truth.reshape(-1, 1), scores.reshape(-1, 1))[0])


def label_cuts(truth: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """The cut of best F1 for each label by itself, of all there are; the lowest wins a tie.

    It lies half-way between the scores it separates; 0 for a label without positives, where nothing
    is to be found.

    >>> label_cuts(np.array([[True], [False]]), np.array([[3.0], [1.0]]))
    array([2.])
    """
    cuts = np.zeros(truth.shape[1])
    found = np.flatnonzero(truth.any(axis=0))
    for block in row_blocks(len(found), len(truth)):
        labels = found[block]
        cuts[labels] = _cuts(truth[:, labels], scores[:, labels])
    return cuts


def _cuts(truth: np.ndarray, scores: np.ndarray) -> np.ndarray:
    order = np.argsort(-scores, axis=0, kind="stable")
    ranked = np.take_along_axis(scores, order, axis=0).astype(np.float64)
    hits = np.cumsum(np.take_along_axis(truth, order, axis=0), axis=0)
    predicted = np.arange(1, len(ranked) + 1)[:, None]
    reached = 2 * hits / (predicted + truth.sum(axis=0))
    below = np.vstack([ranked[1:], ranked[-1:] - 2.0])
    reached[ranked == below] = -1.0  # no cut can part equal scores
    last = len(ranked) - 1 - np.argmax(reached[::-1], axis=0)
    columns = np.arange(truth.shape[1])
    return np.asarray((ranked[last, columns] + below[last, columns]) / 2)


def most_likely(scores: np.ndarray) -> np.ndarray:
    """Each document's label of highest score, for tasks with one label per document.

    >>> most_likely(np.array([[0.2, 0.7], [0.4, 0.1]])).astype(int).tolist()
    [[0, 1], [1, 0]]
    """
    return np.eye(scores.shape[1], dtype=bool)[scores.argmax(axis=1)]


def judge_epoch(
    targets: Matrix,
    scores: np.ndarray,
    *,
    grid: np.ndarray | None,
    task: str = "multi",
    groups: Mapping[str, np.ndarray] | None = None,
) -> dict[str, float]:
    """Micro- and macro-F1 of validation scores under the protocol the test split is judged by.

    ``targets`` may be sparse: they are looked at a block of documents at a time. ``groups``: label
    indices by name; adds ``<group>_micro_f1`` and ``<group>_macro_f1``.
    """
    cut = {} if task == "single" else {"threshold": tune_threshold(targets, scores, grid)}
    counts = _count_labels(targets, scores, cut.get("threshold"))
    figures = {"macro_f1": macro_f1(counts), "micro_f1": micro_f1(counts)}
    for name, labels in (groups or {}).items():
        hits, wrong, missed = (figure[labels] for figure in counts)
        figures[f"{name}_micro_f1"] = micro_f1((hits, wrong, missed))
        figures[f"{name}_macro_f1"] = macro_f1((hits, wrong, missed))
    return {**figures, **cut}


def _count_labels(targets: Matrix, scores: np.ndarray, cut: float | None) -> Counts:
    """Counts by label, of what lies above ``cut`` or, without one, of the likeliest label."""
    totals = np.zeros((3, scores.shape[1]), dtype=np.int64)
    for block in row_blocks(*scores.shape):
        part = scores[block]
        guess = most_likely(part) if cut is None else part > np.float64(cut)
        totals += count(dense_rows(targets, block), guess, axis=0)
    hits, wrong, missed = totals
    return hits, wrong, missed
