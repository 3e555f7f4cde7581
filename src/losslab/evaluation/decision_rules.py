"""Decision rules: how scores become labels, fitted on validation.

- ``own``: the loss's natural threshold, 0.5 of a probability; some losses have none.
- ``tuned``: one threshold for all labels, the papers' protocol.
- ``per_label``: a threshold per label, shrunk towards the tuned one the fewer positives it has.
- ``top_k``: the same number of labels for every document.
- ``argmax``: the one rule of single-label tasks.
"""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from losslab.evaluation.confusion import (
    Matrix,
    confusion_counts,
    dense_rows,
    f1,
    label_counts,
    mean,
    pool,
    precision,
    recall,
)
from losslab.evaluation.predictions import Predictions, top_labels
from losslab.evaluation.thresholds import label_thresholds, tune_threshold

NATURAL_THRESHOLD = 0.5
STRENGTHS = (np.inf, 100.0, 30.0, 10.0, 3.0, 1.0)
"""Shrinkage, strongest first: with that many positives a label goes half-way to its own threshold."""
FOLDS = 5


def fit_decision_rules(
    targets: Matrix,
    scores: Mapping[str, np.ndarray],
    *,
    grid: np.ndarray | None,
    task: str,
    natural: bool = True,
    primary_rule: str = "tuned",
) -> dict[str, Any]:
    """Every decision rule, fitted per seed on validation, and which one losses are compared by.

    Args:
        targets: of validation, documents x labels.
        scores: ``seeds``, and ``validation`` of seeds x documents x labels.
        grid, natural: see ``fit_decisions``.
        primary_rule: the rule asked for, see ``choose_primary_rule``.
    """
    truth = dense_rows(targets, slice(None))
    fitted = {
        str(seed): fit_decisions(truth, values, grid=grid, task=task, natural=natural)
        for seed, values in zip(scores["seeds"], scores["validation"], strict=True)
    }
    rules = next(iter(fitted.values()))
    return {
        "primary": choose_primary_rule(primary_rule, rules),
        "candidates": "every score" if grid is None else "a grid of probabilities",
        "seeds": fitted,
    }


def choose_primary_rule(requested: str, rules: Collection[str]) -> str:
    """The rule losses are compared by: the one requested, if the loss and the task have it.

    Single-label tasks always use ``argmax``; a loss without a natural threshold has no ``own`` and
    falls back to ``tuned``.

    >>> choose_primary_rule("own", ["tuned", "per_label", "top_k"])
    'tuned'
    """
    if "argmax" in rules:
        return "argmax"
    return requested if requested in rules else "tuned"


def fit_decisions(
    targets: np.ndarray,
    scores: np.ndarray,
    *,
    grid: np.ndarray | None,
    task: str,
    natural: bool = True,
    seed: int = 0,
) -> dict[str, dict[str, Any]]:
    """Every rule that fits the task, fitted on validation documents x labels.

    Args:
        grid: the candidate thresholds of ``tuned``; None: every threshold there is.
        natural: whether scores are probabilities; others have no ``own`` rule.
        seed: draws the folds of ``per_label``.
    """
    if task == "single":
        return {"argmax": {"k": 1}}
    own = {"own": {"threshold": NATURAL_THRESHOLD}} if natural else {}
    tuned = tune_threshold(targets, scores, grid)
    truth = np.asarray(targets).astype(bool)
    return {
        **own,
        "tuned": {"threshold": tuned},
        "per_label": fit_label_thresholds(truth, scores, tuned, seed=seed),
        "top_k": {"k": fit_k(truth, scores)},
    }


def fit_k(truth: np.ndarray, scores: np.ndarray) -> int:
    """The number of labels per document of best micro-F1; the smallest wins a tie.

    Candidates are 1 to the most labels a document has.
    """
    best = top_labels(scores, max(int(truth.sum(axis=1).max(initial=0)), 1))
    tp = np.cumsum(np.take_along_axis(truth, best, axis=1).sum(axis=0))
    predicted = len(truth) * np.arange(1, best.shape[1] + 1)
    return int(np.argmax(2 * tp / (predicted + truth.sum()))) + 1


def fit_label_thresholds(
    truth: np.ndarray, scores: np.ndarray, shared: float, *, seed: int = 0, folds: int = FOLDS
) -> dict[str, Any]:
    """A threshold per label, between its own best one and the ``shared`` one.

    A label with n positives goes n / (n + strength) of the way. The strength is chosen by
    cross-validation: each fold is predicted with the thresholds of the others. An infinite strength,
    the shared threshold for all, stays unless another reaches a higher macro-F1, so that thresholds
    of rare labels do not overfit.
    """
    fold = np.random.default_rng(seed).permutation(len(truth)) % folds
    counts = np.zeros((len(STRENGTHS), 3, truth.shape[1]))
    for left_out in range(min(folds, len(truth))):
        out = fold == left_out
        best, positives = label_thresholds(truth[~out], scores[~out]), truth[~out].sum(axis=0)
        for index, strength in enumerate(STRENGTHS):
            predicted = scores[out] > _shrink(best, positives, shared, strength)
            counts[index] += confusion_counts(truth[out], predicted, axis=0)
    scored = [f1((tp, fp, fn)).mean() for tp, fp, fn in counts]
    strength = STRENGTHS[int(np.argmax(scored))]
    shrunk = _shrink(label_thresholds(truth, scores), truth.sum(axis=0), shared, strength)
    return {
        "thresholds": [float(threshold) for threshold in shrunk],
        "strength": None if np.isinf(strength) else strength,
    }


def _shrink(best: np.ndarray, positives: np.ndarray, shared: float, strength: float) -> np.ndarray:
    weight = positives / (positives + strength)  # 0 where the strength is infinite
    return np.asarray(shared + weight * (np.where(positives > 0, best, shared) - shared))


def compare_rules(
    targets: Mapping[str, Any], predictions: Predictions
) -> dict[str, dict[str, dict[str, float]]]:
    """By rule and split: F1, precision and recall, micro and macro, the mean over seeds.

    ``targets``: sparse documents x labels by split.
    """
    return {
        rule: {
            split: _mean_over_seeds(
                [_rule_metrics(truth, part) for part in predictions.by_seed(split, rule)]
            )
            for split, truth in targets.items()
        }
        for rule in predictions.rules
    }


def _rule_metrics(truth: Any, predicted: Any) -> dict[str, float]:
    counts = label_counts(truth, predicted)
    ratios = {"f1": f1, "precision": precision, "recall": recall}
    return {
        **{f"micro_{name}": float(ratio(pool(counts))[0]) for name, ratio in ratios.items()},
        **{f"macro_{name}": mean(ratio(counts)) for name, ratio in ratios.items()},
    }


def _mean_over_seeds(results: list[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([result[name] for result in results])) for name in results[0]}
