"""One threshold for all labels, tuned on validation: the protocol of Huang et al. 2021."""

from collections.abc import Mapping

import numpy as np

from losslab.evaluation.metrics import count, macro_f1, micro_f1


def threshold_grid(lowest: float, highest: float, step: float) -> np.ndarray:
    """The thresholds to try, from ``lowest`` on and never above ``highest``.

    >>> threshold_grid(0.4, 0.6, 0.1).tolist()
    [0.4, 0.5, 0.6]
    """
    return np.round(np.arange(int((highest - lowest) / step + 1e-9) + 1) * step + lowest, 10)


def tune_threshold(targets: np.ndarray, scores: np.ndarray, grid: np.ndarray | None) -> float:
    """The threshold of best micro-F1 under ``score > threshold``; the lowest wins a tie.

    Tried are those of ``grid`` or, for scores without a natural cut, all there are.
    """
    if targets.shape != scores.shape:
        raise ValueError(f"targets {targets.shape} and scores {scores.shape} differ")
    truth = targets.astype(bool)
    if grid is None:
        return best_cut(truth, scores)
    reached = [micro_f1(count(truth, scores > cut, axis=0)) for cut in grid]
    return float(grid[int(np.argmax(reached))])


def best_cut(truth: np.ndarray, scores: np.ndarray) -> float:
    """The cut of best micro-F1 among all; half-way between the scores it separates.

    >>> best_cut(np.array([[True, False]]), np.array([[3.0, 1.0]]))
    2.0
    """
    order = np.argsort(-scores, axis=None, kind="stable")
    ranked = scores.ravel()[order].astype(np.float64)
    hits = np.cumsum(truth.ravel()[order])
    reached = 2 * hits / (np.arange(1, len(ranked) + 1) + truth.sum())
    ends = np.flatnonzero(np.append(ranked[:-1] > ranked[1:], True))
    last = ends[len(ends) - 1 - int(np.argmax(reached[ends][::-1]))]
    below = ranked[last + 1] if last + 1 < len(ranked) else ranked[last] - 2.0
    return float((ranked[last] + below) / 2)


def most_likely(scores: np.ndarray) -> np.ndarray:
    """Each document's label of highest score, for tasks with one label per document.

    >>> most_likely(np.array([[0.2, 0.7], [0.4, 0.1]])).astype(int).tolist()
    [[0, 1], [1, 0]]
    """
    return np.eye(scores.shape[1], dtype=bool)[scores.argmax(axis=1)]


def judge_epoch(
    targets: np.ndarray,
    scores: np.ndarray,
    *,
    grid: np.ndarray | None,
    task: str = "multi",
    groups: Mapping[str, np.ndarray] | None = None,
) -> dict[str, float]:
    """Micro- and macro-F1 of validation scores under the protocol the test split is judged by.

    ``groups``: label indices by name; adds ``<group>_micro_f1`` and ``<group>_macro_f1``.
    """
    cut = {} if task == "single" else {"threshold": tune_threshold(targets, scores, grid)}
    guess = scores > cut["threshold"] if cut else most_likely(scores)
    counts = count(targets.astype(bool), guess, axis=0)
    figures = {"macro_f1": macro_f1(counts), "micro_f1": micro_f1(counts)}
    for name, labels in (groups or {}).items():
        hits, wrong, missed = (figure[labels] for figure in counts)
        figures[f"{name}_micro_f1"] = micro_f1((hits, wrong, missed))
        figures[f"{name}_macro_f1"] = macro_f1((hits, wrong, missed))
    return {**figures, **cut}
