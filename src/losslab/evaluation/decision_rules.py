"""Decision rules: how scores become labels, fitted on validation.

- ``own``: the loss's natural threshold, 0.5 of a probability; some losses have none.
- ``tuned``: one threshold for all labels, the papers' protocol.
- ``per_label``: a threshold per label, shrunk towards the tuned one the fewer positives it has.
- ``top_k``: the same number of labels for every document.
- ``scutfbr``: a threshold per label; the highest score for a label whose best F1 is too low to trust.
- ``logit_adjusted``: one threshold of logits from which a share of the label's log odds is taken.
- ``argmax``: the one rule of single-label tasks.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import expit, logit

from losslab.evaluation.confusion import (
    Matrix,
    confusion_counts,
    dense_rows,
    f1,
    label_counts,
    macro_f1,
    mean,
    pool,
    precision,
    recall,
)
from losslab.evaluation.predictions import Predictions, top_labels
from losslab.evaluation.thresholds import (
    best_threshold,
    count_decision,
    label_thresholds,
    tune_threshold,
)

NATURAL_THRESHOLD = 0.5
STRENGTHS = (np.inf, 100.0, 30.0, 10.0, 3.0, 1.0)
"""Shrinkage, strongest first: with that many positives a label goes half-way to its own threshold."""
FOLDS = 5
FBR = tuple(tenths / 10 for tenths in range(1, 9))
"""Limits of F1 that ``scutfbr`` chooses from, those of Fan and Lin."""
TAUS = tuple(quarters / 4 for quarters in range(9))
"""Shares of the log odds that ``logit_adjusted`` chooses from; 0 is ``tuned``, 1 is Menon et al.'s."""
FALLBACK = "tuned"
OF_PROBABILITIES = frozenset({"own", "logit_adjusted"})
"""Rules that scores without a natural threshold do not have."""


def fit_decision_rules(
    targets: Matrix,
    scores: Mapping[str, np.ndarray],
    *,
    rules: Collection[str],
    grid: np.ndarray | None,
    task: str,
    natural: bool = True,
    priors: np.ndarray | None = None,
    primary_rule: str = FALLBACK,
) -> dict[str, Any]:
    """Decision rules, fitted per seed on validation, and which one losses are compared by.

    Args:
        targets: of validation, documents x labels.
        scores: ``seeds``, and ``validation`` of seeds x documents x labels.
        rules: those to fit besides the primary one and ``tuned``.
        grid, natural, priors: see ``fit_decisions``.
        primary_rule: the rule asked for, see ``choose_primary_rule``.
    """
    truth = dense_rows(targets, slice(None))
    options: dict[str, Any] = {"grid": grid, "task": task, "natural": natural, "priors": priors}
    fitted = {
        str(seed): fit_decisions(truth, values, rules={*rules, primary_rule}, **options)
        for seed, values in zip(scores["seeds"], scores["validation"], strict=True)
    }
    return {
        "primary": choose_primary_rule(primary_rule, next(iter(fitted.values()))),
        "candidates": "every score" if grid is None else "a grid of probabilities",
        "seeds": fitted,
    }


def choose_primary_rule(requested: str, rules: Collection[str]) -> str:
    """The rule losses are compared by: the one requested, if the loss and the task have it.

    Single-label tasks always use ``argmax``; a loss without a natural threshold has neither ``own``
    nor ``logit_adjusted`` and falls back to ``tuned``.

    >>> choose_primary_rule("own", ["tuned", "per_label", "top_k"])
    'tuned'
    """
    if "argmax" in rules:
        return "argmax"
    return requested if requested in rules else FALLBACK


def fit_decisions(
    targets: np.ndarray,
    scores: np.ndarray,
    *,
    rules: Collection[str],
    grid: np.ndarray | None,
    task: str,
    natural: bool = True,
    priors: np.ndarray | None = None,
    seed: int = 0,
) -> dict[str, dict[str, Any]]:
    """Those of ``rules`` that fit the task and the scores, fitted on validation documents x labels.

    ``tuned``, which others fall back to, is always among them.

    Args:
        grid: the candidate thresholds of ``tuned``; None: every threshold there is.
        natural: whether scores are probabilities; others have neither ``own`` nor
            ``logit_adjusted``.
        priors: each label's share of training documents, see ``label_priors``; what
            ``logit_adjusted`` needs.
        seed: draws the folds of ``per_label`` and ``scutfbr``.
    """
    if task == "single":
        return {"argmax": {"k": 1}}
    truth = np.asarray(targets).astype(bool)
    tuned = tune_threshold(targets, scores, grid)
    fits: dict[str, Callable[[], dict[str, Any]]] = {
        "own": lambda: {"threshold": NATURAL_THRESHOLD},
        "tuned": lambda: {"threshold": tuned},
        "per_label": lambda: fit_label_thresholds(truth, scores, tuned, seed=seed),
        "top_k": lambda: {"k": fit_k(truth, scores)},
        "scutfbr": lambda: fit_scutfbr(truth, scores, seed=seed),
        "logit_adjusted": lambda: fit_logit_adjustment(truth, scores, priors),
    }
    asked = {FALLBACK, *rules} - (set() if natural else OF_PROBABILITIES)
    return {name: fit() for name, fit in fits.items() if name in asked}


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
    counts = np.zeros((len(STRENGTHS), 3, truth.shape[1]))
    for out in _folds(len(truth), folds, seed):
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


def _folds(documents: int, folds: int, seed: int) -> Iterator[np.ndarray]:
    """Which documents are left out, fold by fold."""
    fold = np.random.default_rng(seed).permutation(documents) % folds
    for left_out in range(min(folds, documents)):
        yield fold == left_out


def _shrink(best: np.ndarray, positives: np.ndarray, shared: float, strength: float) -> np.ndarray:
    weight = positives / (positives + strength)  # 0 where the strength is infinite
    return np.asarray(shared + weight * (np.where(positives > 0, best, shared) - shared))


def fit_scutfbr(
    truth: np.ndarray, scores: np.ndarray, *, seed: int = 0, folds: int = FOLDS
) -> dict[str, Any]:
    """SCutFBR.1 (Lewis et al. 2004; Fan and Lin 2007): each label's own threshold, if it can be trusted.

    A label whose best F1 is below its limit ``fbr`` gets its highest score as its threshold, so that
    it is hardly predicted: a threshold that is fitted to a few positives would cost false positives.
    The limit is that of best F1 on documents left out, the largest of equals, the smallest where none
    is above 0. Fan and Lin train anew in each fold and average thresholds; scores of validation,
    which no training has seen, need neither. F1 is of the counts of all folds together.
    """
    counts = np.zeros((len(FBR), 3, truth.shape[1]))
    for out in _folds(len(truth), folds, seed):
        candidates = _scut(truth[~out], scores[~out])
        for index, limit in enumerate(FBR):
            predicted = scores[out] > _trusted(*candidates, np.asarray(limit))
            counts[index] += confusion_counts(truth[out], predicted, axis=0)
    reached = np.stack([f1((tp, fp, fn)) for tp, fp, fn in counts])
    largest = len(FBR) - 1 - np.argmax(reached[::-1], axis=0)
    limits = np.array(FBR)[np.where(reached.max(axis=0) > 0, largest, 0)]
    thresholds = _trusted(*_scut(truth, scores), limits)
    return {"thresholds": thresholds.tolist(), "fbr": limits.tolist()}


def _scut(truth: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By label: the threshold of best F1, that F1, and the highest score."""
    thresholds = label_thresholds(truth, scores)
    counts, _ = count_decision(truth, scores, {"thresholds": thresholds})
    highest = scores.max(axis=0, initial=-np.inf).astype(float)
    return thresholds, np.where(truth.any(axis=0), f1(counts), 0.0), highest


def _trusted(
    thresholds: np.ndarray, reached: np.ndarray, highest: np.ndarray, limits: np.ndarray
) -> np.ndarray:
    return np.where(reached < limits, highest, thresholds)


def label_priors(frequencies: Sequence[int] | np.ndarray, documents: int) -> np.ndarray:
    """Each label's share of the training documents, kept half a document away from 0 and 1.

    >>> label_priors([0, 2, 4], 4).tolist()
    [0.125, 0.5, 0.875]
    """
    half = 0.5 / max(documents, 1)
    return np.clip(np.asarray(frequencies) / max(documents, 1), half, 1 - half)


def fit_logit_adjustment(
    truth: np.ndarray, scores: np.ndarray, priors: np.ndarray | None
) -> dict[str, Any]:
    """Post-hoc logit adjustment (Menon et al. 2021, for sigmoids): ``z - tau logit(pi_c) > t``.

    For every tau of ``TAUS`` the threshold t is that of best micro-F1, as ``tuned`` has it; tau is
    that of best macro-F1, the smallest of equals. So on validation it is never below ``tuned`` by
    macro-F1. As a decision it is a threshold of probabilities by label, ``sigmoid(t + tau
    logit(pi_c))``.
    """
    if priors is None:
        raise ValueError("logit_adjusted needs the labels' priors")
    tiny = np.finfo(scores.dtype).eps
    logits = logit(np.clip(scores, tiny, 1 - tiny))
    odds = logit(priors).astype(scores.dtype)
    candidates = []
    for tau in TAUS:
        shift = scores.dtype.type(tau) * odds
        thresholds = expit(best_threshold(truth, logits - shift) + tau * odds.astype(float))
        counts, _ = count_decision(truth, scores, {"thresholds": thresholds})
        candidates.append((macro_f1(counts), thresholds))
    chosen = int(np.argmax([reached for reached, _ in candidates]))
    return {"thresholds": candidates[chosen][1].tolist(), "tau": TAUS[chosen]}


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
