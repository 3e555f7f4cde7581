"""Metrics of the order in which each document's labels are scored.

scikit-learn has most of them as means over documents. Here they are kept per document, because the
bootstrap needs them so, and all come from one sort per document. Equal scores count as their
position's worst rank in average precision and ranking loss, and as the mean over their possible
orders at k: in all as scikit-learn does.
"""

from dataclasses import dataclass

import numpy as np

AT = (1, 3, 5)


@dataclass(frozen=True)
class PositiveRanks:
    """For each positive of a block: its document, and how many labels score above it.

    ``through`` counts those that score as high, too, itself included; ``among`` the same among the
    document's positives only.
    """

    document: np.ndarray
    above: np.ndarray
    through: np.ndarray
    among: np.ndarray


def rank_positives(truth: np.ndarray, scores: np.ndarray) -> PositiveRanks:
    """The ranks of every positive of a boolean documents x labels block."""
    labels = scores.shape[1]
    parts: list[tuple[np.ndarray, ...]] = [(np.empty(0, int),) * 4]
    for document in np.flatnonzero(truth.any(axis=1)):
        ordered, positives = np.sort(scores[document]), np.sort(scores[document, truth[document]])
        above = labels - np.searchsorted(ordered, positives, side="right")
        through = labels - np.searchsorted(ordered, positives, side="left")
        among = len(positives) - np.searchsorted(positives, positives, side="left")
        parts.append((np.full(len(positives), document), above, through, among))
    return PositiveRanks(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def ranking_metrics(truth: np.ndarray, scores: np.ndarray) -> dict[str, np.ndarray]:
    """Each metric by name, one value per document; 0 where a document has nothing to rank."""
    if np.isnan(scores).any():
        raise ValueError("scores must be numbers, found nan: the model that gave them diverged")
    ranks, (documents, labels) = rank_positives(truth, scores), truth.shape
    positives = truth.sum(axis=1)
    some = np.maximum(positives, 1)

    def total(values: np.ndarray) -> np.ndarray:
        return np.bincount(ranks.document, weights=values, minlength=documents)

    pairs = np.maximum(positives * (labels - positives), 1)
    metrics = {
        "average_precision": total(ranks.among / ranks.through) / some,
        "ranking_loss": total(ranks.through - ranks.among) / pairs,
    }
    for k in AT:
        expected_hits = total(_expected(np.ones(k), ranks, labels))
        gains = _cumulate(_discounts(k), labels)
        metrics[f"precision_at_{k}"] = expected_hits / k
        metrics[f"recall_at_{k}"] = expected_hits / some
        metrics[f"ndcg_at_{k}"] = total(_expected(_discounts(k), ranks, labels)) / np.where(
            positives > 0, gains[positives], 1.0
        )
    return metrics


def _discounts(k: int) -> np.ndarray:
    return np.asarray(1 / np.log2(np.arange(k) + 2))


def _cumulate(gains: np.ndarray, labels: int) -> np.ndarray:
    """Cumulative gain of the first 0, 1, 2, ... ranks; 0 is added after the last gain."""
    worth = np.zeros(labels)
    worth[: len(gains)] = gains[:labels]
    return np.concatenate([[0.0], np.cumsum(worth)])


def _expected(gains: np.ndarray, ranks: PositiveRanks, labels: int) -> np.ndarray:
    """The gain of each positive's rank, the mean over the ranks it shares with equal scores."""
    worth = _cumulate(gains, labels)
    return np.asarray((worth[ranks.through] - worth[ranks.above]) / (ranks.through - ranks.above))
