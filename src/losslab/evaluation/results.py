"""The results of a loss: every metric by seed and over seeds, with bootstrap intervals."""

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.evaluation.bootstrap import Resamples, average_seeds, intervals, resample_metrics
from losslab.evaluation.decision_rules import compare_rules
from losslab.evaluation.metrics import compute_metrics
from losslab.evaluation.predictions import Predictions


def evaluate_loss(
    targets: Mapping[str, sparse.csr_array],
    scores: Mapping[str, np.ndarray],
    predictions: Predictions,
    decision_rules: Mapping[str, Any],
    history: pd.DataFrame,
    *,
    groups: Mapping[str, Sequence[int]],
    resamples: int,
    seed: int,
    confidence: float,
) -> tuple[dict[str, Any], Resamples]:
    """Metrics of the test split, and those of its bootstrap resamples by the primary rule.

    Args:
        targets: documents x labels of ``validation`` and ``test``.
        scores, predictions, decision_rules: see ``predict``.
        history: ``seed epoch best`` of every epoch.
        groups: label indices by frequency group.
        resamples, seed, confidence: of the bootstrap.

    ``seeds mean std intervals`` are those of the primary ``rule``; ``own`` holds the same four by
    the loss's natural threshold, and is None where that is the primary rule or does not exist.
    ``rules`` compares all rules.
    """
    bootstrap = {"resamples": resamples, "seed": seed, "groups": groups}
    epochs = history.groupby("seed").agg(epochs=("epoch", "max"), best_epoch=("best", "first"))

    def evaluate(rule: str) -> tuple[dict[str, Any], Resamples]:
        metrics, drawn = {}, []
        for name, values in zip(predictions.seeds, scores["test"], strict=True):
            predicted = predictions.of("test", rule, name)
            threshold = decision_rules["seeds"][name][rule].get("threshold")
            metrics[name] = {
                **compute_metrics(targets["test"], values, predicted, groups=groups),
                **epochs.loc[int(name)].to_dict(),
                **({} if threshold is None else {"threshold": threshold}),
            }
            drawn.append(resample_metrics(targets["test"], values, predicted, **bootstrap))
        return _summarise(metrics, average_seeds(drawn), confidence)

    summary, averaged = evaluate(predictions.primary)
    has_own = "own" in predictions.rules and predictions.primary != "own"
    results = {
        "split": "test",
        "rule": predictions.primary,
        **summary,
        "own": evaluate("own")[0] if has_own else None,
        "rules": compare_rules(targets, predictions),
    }
    return results, averaged


def _summarise(
    seeds: Mapping[str, Mapping[str, float]], resamples: Resamples, confidence: float
) -> tuple[dict[str, Any], Resamples]:
    summary = summarise_seeds(list(seeds.values()))
    bounds = intervals(resamples, summary["mean"], confidence)
    return {"seeds": seeds, **summary, "intervals": bounds}, resamples


def own_results(results: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """``seeds mean std intervals`` by the loss's natural threshold, if it has one."""
    if results.get("rule") == "own":
        return results
    own: Mapping[str, Any] | None = results.get("own")
    return own


def summarise_seeds(results: Sequence[Mapping[str, float]]) -> dict[str, dict[str, Any]]:
    """Mean and sample standard deviation of every metric; the latter is None for one seed.

    >>> summarise_seeds([{"f1": 0.4}, {"f1": 0.6}])["mean"]
    {'f1': 0.5}
    """
    columns = {key: [float(result[key]) for result in results] for key in results[0]}
    return {
        "mean": {key: fmean(values) for key, values in columns.items()},
        "std": {key: stdev(values) if len(values) > 1 else None for key, values in columns.items()},
    }
