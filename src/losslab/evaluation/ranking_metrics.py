"""Metrics of the order in which each document's labels are scored.

scikit-learn has most of them as means over documents. Here they are kept per document, because the
bootstrap needs them so, and all come from one sort per document. Equal scores count as their
position's worst rank in average precision, ranking loss and coverage error, and as the mean over
their possible orders at k: in all as scikit-learn does.
"""

from dataclasses import dataclass

import numpy as np

AT = (1, 3, 5)


@dataclass(frozen=True)
class PositiveRanks:
    """For each positive of a block: its document, its label, and how many labels score above it.

    ``through`` counts those that score as high, too, itself included; ``among`` the same among the
    document's positives only.
    """

    document: np.ndarray
    label: np.ndarray
    above: np.ndarray
    through: np.ndarray
    among: np.ndarray


def rank_positives(truth: np.ndarray, scores: np.ndarray) -> PositiveRanks:
    """The ranks of every positive of a boolean documents x labels block, document by document."""
    labels = scores.shape[1]
    parts: list[tuple[np.ndarray, ...]] = [(np.empty(0, int),) * 5]
    for document in np.flatnonzero(truth.any(axis=1)):
        carried = np.flatnonzero(truth[document])
        carried = carried[np.argsort(scores[document, carried], kind="stable")]
        ordered, positives = np.sort(scores[document]), scores[document, carried]
        above = labels - np.searchsorted(ordered, positives, side="right")
        through = labels - np.searchsorted(ordered, positives, side="left")
        among = len(positives) - np.searchsorted(positives, positives, side="left")
        parts.append((np.full(len(positives), document), carried, above, through, among))
    return PositiveRanks(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def ranking_metrics(ranks: PositiveRanks, truth: np.ndarray) -> dict[str, np.ndarray]:
    """Each metric by name, one value per document of a block; 0 where it has nothing to rank.

    ``one_error`` is 1 there: the first label is not a true one.
    """
    documents, labels = truth.shape
    positives = truth.sum(axis=1)
    some = np.maximum(positives, 1)

    def total(values: np.ndarray) -> np.ndarray:
        return np.bincount(ranks.document, weights=values, minlength=documents)

    pairs = np.maximum(positives * (labels - positives), 1)
    metrics = {
        "average_precision": average_precision(ranks, positives),
        "ranking_loss": total(ranks.through - ranks.among) / pairs,
        "coverage_error": _last_rank(ranks, documents),
    }
    for k in AT:
        expected_hits = total(expected_gain(np.ones(k), ranks, labels))
        gains = cumulative_gain(discounts(k), labels)
        metrics[f"precision_at_{k}"] = expected_hits / k
        metrics[f"recall_at_{k}"] = expected_hits / some
        metrics[f"r_precision_at_{k}"] = expected_hits / np.minimum(some, k)
        metrics[f"ndcg_at_{k}"] = total(expected_gain(discounts(k), ranks, labels)) / np.where(
            positives > 0, gains[positives], 1.0
        )
    return {**metrics, "one_error": 1 - metrics["precision_at_1"]}


def average_precision(ranks: PositiveRanks, positives: np.ndarray) -> np.ndarray:
    """Mean precision at the ranks of each document's positives; 0 where it has none."""
    precisions = np.bincount(
        ranks.document, weights=ranks.among / ranks.through, minlength=len(positives)
    )
    return np.asarray(precisions / np.maximum(positives, 1))


def _last_rank(ranks: PositiveRanks, documents: int) -> np.ndarray:
    """How far down a document's ranking all its positives are covered."""
    last = np.zeros(documents)
    np.maximum.at(last, ranks.document, ranks.through)
    return last


def discounts(k: int) -> np.ndarray:
    """The gain of each of the first k ranks in DCG."""
    return np.asarray(1 / np.log2(np.arange(k) + 2))


def cumulative_gain(gains: np.ndarray, labels: int) -> np.ndarray:
    """Cumulative gain of the first 0, 1, 2, ... ranks; 0 is added after the last gain."""
    worth = np.zeros(labels)
    worth[: len(gains)] = gains[:labels]
    return np.concatenate([[0.0], np.cumsum(worth)])


def expected_gain(gains: np.ndarray, ranks: PositiveRanks, labels: int) -> np.ndarray:
    """The gain of each positive's rank, the mean over the ranks it shares with equal scores."""
    worth = cumulative_gain(gains, labels)
    return np.asarray((worth[ranks.through] - worth[ranks.above]) / (ranks.through - ranks.above))
