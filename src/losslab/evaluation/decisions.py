"""From scores to labels: the rules, fitted on validation, and their application.

A decision is plain data, so that it can be saved and applied to new documents: ``{"threshold": t}``
(labels that score above t), ``{"thresholds": [...]}`` (a cut for each label) or ``{"k": n}`` (the n
labels of highest score).

- ``own``: the cut the loss was made for, 0.5 of a probability; some losses have none.
- ``tuned``: one threshold for all labels, the papers' protocol.
- ``per_label``: a threshold for each label, drawn towards the tuned one the fewer positives it has.
- ``top_k``: as many labels for every document.
- ``likeliest``: the one rule of tasks with one label per document.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from losslab.evaluation.counts import (
    Matrix,
    count,
    dense_rows,
    f1,
    macro_f1,
    micro_f1,
    row_blocks,
    sliceable,
)
from losslab.evaluation.thresholds import label_cuts, tune_threshold

Decision = Mapping[str, Any]
OWN_CUT = 0.5
STRENGTHS = (np.inf, 100.0, 30.0, 10.0, 3.0, 1.0)
"""Of shrinkage, strongest first: a label with that many positives goes half the way to its own cut."""
FOLDS = 5


def fit_decisions(
    targets: np.ndarray, scores: np.ndarray, *, grid: np.ndarray | None, task: str, seed: int = 0
) -> dict[str, dict[str, Any]]:
    """Every rule that fits the task, fitted on validation documents x labels.

    ``grid``: the thresholds to try for probabilities; None for scores without a natural cut, which
    have no ``own`` rule. ``seed`` draws the folds of ``per_label``.
    """
    if task == "single":
        return {"likeliest": {"k": 1}}
    own = {} if grid is None else {"own": {"threshold": OWN_CUT}}
    tuned = tune_threshold(targets, scores, grid)
    truth = np.asarray(targets).astype(bool)
    return {
        **own,
        "tuned": {"threshold": tuned},
        "per_label": fit_label_thresholds(truth, scores, tuned, seed=seed),
        "top_k": {"k": fit_k(truth, scores)},
    }


def primary_rule(task: str) -> str:
    """The rule by which losses are compared."""
    return "likeliest" if task == "single" else "tuned"


def apply_decision(decision: Decision, scores: np.ndarray) -> np.ndarray:
    """The labels chosen, documents x labels.

    >>> apply_decision({"k": 1}, np.array([[0.2, 0.7], [0.4, 0.1]])).astype(int).tolist()
    [[0, 1], [1, 0]]
    >>> apply_decision({"thresholds": [0.1, 0.8]}, np.array([[0.2, 0.7]])).tolist()
    [[True, False]]
    """
    if "k" in decision:
        chosen = np.zeros(scores.shape, dtype=bool)
        np.put_along_axis(chosen, _best_labels(scores, decision["k"]), True, axis=1)
        return chosen
    cuts = np.asarray(decision["thresholds"] if "thresholds" in decision else decision["threshold"])
    return np.asarray(
        scores > cuts
    )  # an array: a plain number would be rounded to the scores' type


def _best_labels(scores: np.ndarray, k: int) -> np.ndarray:
    """The k labels of highest score, best first; of equal scores the first labels."""
    if k == 1:
        return scores.argmax(axis=1)[:, None]
    return np.concatenate(
        [
            np.argsort(-scores[block], axis=1, kind="stable")[:, :k]
            for block in row_blocks(*scores.shape)
        ]
    )


def fit_k(truth: np.ndarray, scores: np.ndarray) -> int:
    """The number of labels per document of best micro-F1; the smallest wins a tie.

    Tried are 1 to the most labels a document has.
    """
    best = _best_labels(scores, max(int(truth.sum(axis=1).max(initial=0)), 1))
    hits = np.cumsum(np.take_along_axis(truth, best, axis=1).sum(axis=0))
    predicted = len(truth) * np.arange(1, best.shape[1] + 1)
    return int(np.argmax(2 * hits / (predicted + truth.sum()))) + 1


def fit_label_thresholds(
    truth: np.ndarray, scores: np.ndarray, shared: float, *, seed: int = 0, folds: int = FOLDS
) -> dict[str, Any]:
    """A threshold for each label, between its own best cut and the ``shared`` one.

    A label with n positives goes n / (n + strength) of the way. Which strength serves best is
    measured on documents the cuts were not fitted on: each fold is decided by cuts of the others.
    An infinite strength, the shared threshold for all, stays unless another reaches a higher
    macro-F1, so that rare labels do not follow their luck.
    """
    fold = np.random.default_rng(seed).permutation(len(truth)) % folds
    counts = np.zeros((len(STRENGTHS), 3, truth.shape[1]))
    for left_out in range(min(folds, len(truth))):
        out = fold == left_out
        cuts, positives = label_cuts(truth[~out], scores[~out]), truth[~out].sum(axis=0)
        for index, strength in enumerate(STRENGTHS):
            guess = scores[out] > _shrink(cuts, positives, shared, strength)
            counts[index] += count(truth[out], guess, axis=0)
    reached = [f1(tuple(figures)).mean() for figures in counts]  # type: ignore[arg-type]
    strength = STRENGTHS[int(np.argmax(reached))]
    cuts = _shrink(label_cuts(truth, scores), truth.sum(axis=0), shared, strength)
    return {
        "thresholds": [float(cut) for cut in cuts],
        "strength": None if np.isinf(strength) else strength,
    }


def _shrink(cuts: np.ndarray, positives: np.ndarray, shared: float, strength: float) -> np.ndarray:
    weight = positives / (positives + strength)  # 0 where the strength is infinite
    return np.asarray(shared + weight * (np.where(positives > 0, cuts, shared) - shared))


def rule_scores(targets: Matrix, scores: np.ndarray, decision: Decision) -> dict[str, float]:
    """Micro- and macro-F1 of a decision: what the rules are compared by."""
    truth = dense_rows(sliceable(targets, scores.shape), slice(None))
    counts = count(truth, apply_decision(decision, scores), axis=0)
    return {"micro_f1": micro_f1(counts), "macro_f1": macro_f1(counts)}


def decided(
    scores: Mapping[str, np.ndarray], thresholds: Mapping[str, Any]
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Each seed with its test scores and the labels that the primary rule makes of them."""
    for seed, values in zip(scores["seeds"], scores["test"], strict=True):
        decision = thresholds["seeds"][str(seed)][thresholds["primary"]]
        yield str(seed), values, apply_decision(decision, values)


def compare_rules(
    decisions: Mapping[str, Mapping[str, Decision]],
    splits: Mapping[str, tuple[Matrix, Mapping[str, np.ndarray]]],
) -> dict[str, dict[str, dict[str, float]]]:
    """By rule and split: micro- and macro-F1, the mean over seeds.

    ``decisions`` by seed and rule; ``splits``: targets, and scores by seed.
    """
    rules = next(iter(decisions.values()))
    return {
        rule: {
            split: _mean(
                [
                    rule_scores(targets, scores[seed], chosen[rule])
                    for seed, chosen in decisions.items()
                ]
            )
            for split, (targets, scores) in splits.items()
        }
        for rule in rules
    }


def _mean(results: list[dict[str, float]]) -> dict[str, float]:
    return {name: float(np.mean([result[name] for result in results])) for name in results[0]}
