"""One threshold for all labels, tuned on validation: the protocol of Huang et al. 2021."""

import numpy as np

from losslab.evaluation.decisions import probabilities
from losslab.evaluation.metrics import count, macro_f1, micro_f1


def threshold_grid(lowest: float, highest: float, step: float) -> np.ndarray:
    """The thresholds to try, from ``lowest`` on and never above ``highest``.

    >>> threshold_grid(0.4, 0.6, 0.1).tolist()
    [0.4, 0.5, 0.6]
    """
    return np.round(np.arange(int((highest - lowest) / step + 1e-9) + 1) * step + lowest, 10)


def tune_threshold(targets: np.ndarray, chances: np.ndarray, grid: np.ndarray) -> float:
    """The threshold of best micro-F1 under ``probability > threshold``; the lowest wins a tie."""
    if targets.shape != chances.shape:
        raise ValueError(f"targets {targets.shape} and probabilities {chances.shape} differ")
    truth = targets.astype(bool)
    scores = [micro_f1(count(truth, chances > cut, axis=0)) for cut in grid]
    return float(grid[int(np.argmax(scores))])


def judge_epoch(
    targets: np.ndarray, logits: np.ndarray, *, decision: str, grid: np.ndarray
) -> dict[str, float]:
    """Micro- and macro-F1 of validation logits under the protocol the test split is judged by."""
    chances = probabilities(logits, decision)
    cut = tune_threshold(targets, chances, grid)
    counts = count(targets.astype(bool), chances > cut, axis=0)
    return {"macro_f1": macro_f1(counts), "micro_f1": micro_f1(counts), "threshold": cut}
