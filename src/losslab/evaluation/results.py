"""The results of a loss: every metric by seed and over seeds, with bootstrap intervals."""

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.evaluation.bootstrap import Resamples, average_seeds, intervals, resample_rules
from losslab.evaluation.convergence import summarise_trainings
from losslab.evaluation.decision_rules import compare_rules
from losslab.evaluation.metrics import (
    Groups,
    ScoreStatistics,
    count_predictions,
    judge_scores,
    prediction_metrics,
)
from losslab.evaluation.predictions import Predictions

Metrics = dict[str, float]


def evaluate_loss(
    targets: Mapping[str, sparse.csr_array],
    scores: Mapping[str, np.ndarray],
    predictions: Predictions,
    decision_rules: Mapping[str, Any],
    history: pd.DataFrame,
    *,
    groups: Groups,
    resamples: int,
    seed: int,
    confidence: float,
    inverse_propensities: np.ndarray | None = None,
    probability: bool = False,
) -> tuple[dict[str, Any], Resamples]:
    """Metrics of the test split, and those of its bootstrap resamples by the primary rule.

    Args:
        targets: documents x labels of ``validation`` and ``test``.
        scores, predictions, decision_rules: see ``predict``.
        history: a row per seed and evaluation, see ``summarise_trainings``.
        groups: label indices by frequency group.
        resamples, seed, confidence: of the bootstrap.
        inverse_propensities, probability: see ``compute_metrics``.

    ``seeds mean std intervals`` are those of the primary ``rule``; ``own`` holds the same four by
    the loss's natural threshold, and is None where that is the primary rule or does not exist.
    ``rules`` compares all rules. ``training`` says what each seed was selected by, and has the mark
    of a loss that stopped before it had learned.
    """
    truth, rules = targets["test"], _reported_rules(predictions)
    judge = partial(
        judge_scores,
        truth,
        groups=groups,
        inverse_propensities=inverse_propensities,
        probability=probability,
    )
    judged = dict(zip(predictions.seeds, map(judge, scores["test"]), strict=True))
    resample = partial(resample_rules, resamples=resamples, seed=seed, groups=groups)
    drawn = [
        resample(truth, each, [predictions.of("test", rule, name) for rule in rules])
        for name, each in judged.items()
    ]
    averaged = [average_seeds(by_seed) for by_seed in zip(*drawn, strict=True)]
    summaries: list[dict[str, Any]] = []
    for rule, part in zip(rules, averaged, strict=True):
        metrics = _metrics_by_seed(truth, judged, predictions, rule, groups)
        facts = _training_facts(history, decision_rules["seeds"], rule)
        by_seed = {name: {**values, **facts[name]} for name, values in metrics.items()}
        summary = summarise_seeds(list(by_seed.values()))
        bounds = intervals(part, summary["mean"], confidence)
        summaries.append({"seeds": by_seed, **summary, "intervals": bounds})
    results = {
        "split": "test",
        "rule": predictions.primary,
        **summaries[0],
        "own": summaries[1] if "own" in rules[1:] else None,
        "rules": compare_rules(targets, predictions),
        "training": summarise_trainings(history),
    }
    return results, averaged[0]


def _reported_rules(predictions: Predictions) -> list[str]:
    """The primary rule, and ``own`` if it is another and the loss has it."""
    has_own = "own" in predictions.rules and predictions.primary != "own"
    return [predictions.primary, "own"] if has_own else [predictions.primary]


def _metrics_by_seed(
    truth: sparse.csr_array,
    judged: Mapping[str, ScoreStatistics],
    predictions: Predictions,
    rule: str,
    groups: Groups,
) -> dict[str, Metrics]:
    """The metrics of the scores, and those of their labels by one rule."""
    counted = {
        name: count_predictions(truth, predictions.of("test", rule, name), truth.shape)
        for name in judged
    }
    return {
        name: {**each.metrics, **prediction_metrics(*counted[name], groups)}
        for name, each in judged.items()
    }


def _training_facts(
    history: pd.DataFrame, decisions: Mapping[str, Mapping[str, Any]], rule: str
) -> dict[str, Metrics]:
    """``epochs``, ``best_epoch``, ``steps`` and, if the rule has one, ``threshold`` by seed.

    A search, which a baseline has in place of a training, has the last one alone.
    """
    epochs = history.groupby("seed").agg(
        epochs=("epoch", "max"), best_epoch=("best", "first"), steps=("train_steps", "max")
    )
    trained = "setting" not in history
    return {
        name: {
            **(epochs.loc[int(name)].to_dict() if trained else {}),
            **{key: value for key, value in by_rule[rule].items() if key == "threshold"},
        }
        for name, by_rule in decisions.items()
    }


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
