"""Recall@k and mean reciprocal rank, their bootstrap over questions, and the comparison of methods."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from losslab.errors import IncomparableError
from losslab.evaluation.bootstrap import (
    Resamples,
    average_seeds,
    compare_with_reference,
    draw_documents,
    intervals,
)
from losslab.evaluation.results import summarise_seeds

MRR = "mrr"
COLUMNS = (
    *("method", "metric", "seeds", "value", "std", "low", "high"),
    *("difference", "difference_low", "difference_high", "p", "p_holm", "mark"),
)


def recall_name(k: int) -> str:
    """The name of Recall@k, as MLflow takes it.

    >>> recall_name(10)
    'recall_at_10'
    """
    return f"recall_at_{k}"


def question_metrics(ranks: np.ndarray, recall_at: Sequence[int]) -> dict[str, np.ndarray]:
    """Of each question: whether its positive is among the first k, and its reciprocal rank."""
    hits = {recall_name(k): (ranks <= k).astype(float) for k in recall_at}
    return {**hits, MRR: 1 / ranks}


def rank_metrics(ranks: np.ndarray, recall_at: Sequence[int]) -> dict[str, float]:
    """Recall@k and MRR of questions with one positive each.

    >>> rank_metrics(np.array([1, 4]), [1, 10])
    {'recall_at_1': 0.5, 'recall_at_10': 1.0, 'mrr': 0.625}
    """
    metrics = question_metrics(ranks, recall_at)
    return {name: float(values.mean()) for name, values in metrics.items()}


def resample_ranks(
    ranks: np.ndarray, recall_at: Sequence[int], *, resamples: int, seed: int
) -> Resamples:
    """The metrics of each bootstrap resample of the questions, the same draws for every method."""
    metrics = question_metrics(ranks, recall_at)
    blocks = draw_documents(len(ranks), 1, resamples=resamples, seed=seed)
    drawn = [
        {name: values @ times / len(ranks) for name, values in metrics.items()} for times in blocks
    ]
    return {name: np.concatenate([block[name] for block in drawn]) for name in metrics}


def evaluate_ranks(
    ranks: Mapping[str, np.ndarray],
    recall_at: Sequence[int],
    *,
    resamples: int,
    seed: int,
    confidence: float,
) -> tuple[dict[str, Any], Resamples]:
    """Metrics of the test split, and those of its bootstrap resamples, mean over seeds.

    Args:
        ranks: by seed, the rank of each test question's positive.
        resamples, seed, confidence: of the bootstrap.
    """
    by_seed = {name: rank_metrics(values, recall_at) for name, values in ranks.items()}
    drawn = average_seeds(
        [resample_ranks(each, recall_at, resamples=resamples, seed=seed) for each in ranks.values()]
    )
    summary = summarise_seeds(list(by_seed.values()))
    bounds = intervals(drawn, summary["mean"], confidence)
    return {"split": "test", "seeds": by_seed, **summary, "intervals": bounds}, drawn


def compare_methods(
    metrics: Mapping[str, Mapping[str, Any]],
    resamples: Mapping[str, Resamples],
    *,
    reference: str,
    confidence: float,
) -> pd.DataFrame:
    """A row per method and metric: value, interval, and the paired difference to the reference.

    ``mark``: why the training of a method had not learned, if it had not.
    """
    if reference not in metrics:
        raise IncomparableError(
            f"the reference {reference} has no result: train it as well, or set report.reference to "
            f"one of {', '.join(metrics)}"
        )
    means = {method: result["mean"] for method, result in metrics.items()}
    resamples = {
        method: {name: resamples[method][name] for name in means[method]} for method in means
    }
    compared = compare_with_reference(means, resamples, reference=reference, confidence=confidence)
    rows = [
        {
            "method": method,
            "metric": metric,
            "seeds": len(metrics[method]["seeds"]),
            "std": metrics[method]["std"][metric],
            "mark": (metrics[method].get("training") or {}).get("mark"),
            **entry,
        }
        for method, by_metric in compared.items()
        for metric, entry in by_metric.items()
    ]
    return pd.DataFrame(rows, columns=[*COLUMNS])
