"""Metrics of multi-label classification on documents x labels matrices.

Papers differ on undefined cases, so both readings are given. ``macro_f1`` counts a label with
neither positives nor predictions as 0 (Huang et al.), ``macro_f1_absent_as_one`` as 1 (ZLPR).
``example_f1`` counts an empty prediction of an empty row as 1, ``average_precision`` an empty row as
0 and ``ranking_loss`` an empty or full row as 0 (all ZLPR); ``example_f1_empty_as_zero``,
``average_precision_empty_as_one``, ``…_empty_skipped`` and ``ranking_loss_undefined_skipped`` are
the others. The counts of labels and rows concerned are given, too.

What scores do not tell is left out, not counted as 0: Brier score, log loss and calibration error of
scores that are no probabilities, the calibration error of a group without labels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from losslab.evaluation.confusion import (
    Counts,
    Matrix,
    confusion_counts,
    dense_rows,
    f1,
    f1_empty_as_one,
    harmonic_mean,
    macro_f1,
    mean,
    micro_f1,
    pool,
    precision,
    recall,
    require_shape,
    row_blocks,
    select_labels,
    undefined,
)
from losslab.evaluation.probability_metrics import (
    BINS,
    calibration_error,
    count_bins,
    probability_metrics,
)
from losslab.evaluation.propensity import average_terms, propensity_terms
from losslab.evaluation.ranking_metrics import (
    average_precision,
    rank_positives,
    ranking_metrics,
)

RATIOS = {"precision": precision, "recall": recall, "f1": f1}
CALIBRATION = "calibration_error"
LOWER_IS_BETTER = frozenset(
    {
        "hamming_loss",
        "ranking_loss",
        "ranking_loss_undefined_skipped",
        "coverage_error",
        "one_error",
        "brier_score",
        "log_loss",
        *(f"{group}{CALIBRATION}" for group in ("", "head/", "medium/", "tail/")),
        "minutes",
    }
)
"""Of all that losses are compared by; of everything else higher is better."""
Groups = Mapping[str, Sequence[int]]
"""Label indices by group name."""


@dataclass(frozen=True)
class ScoreStatistics:
    """What scores tell by themselves, whatever the decision rule.

    Args:
        terms: by metric, each document's part of it; see ``average_terms``.
        metrics: all that follows from the scores.
    """

    terms: Mapping[str, np.ndarray]
    metrics: Mapping[str, float]


def compute_metrics(
    targets: Matrix,
    scores: np.ndarray,
    predictions: Matrix,
    *,
    groups: Groups | None = None,
    inverse_propensities: np.ndarray | None = None,
    probability: bool = False,
) -> dict[str, float]:
    """Every metric by name.

    Args:
        targets: documents x labels, 0 or 1, dense or sparse.
        scores: documents x labels, higher means likelier; only their order in a row, and in a
            column for ``macro_average_precision``, counts unless they are probabilities.
        predictions: documents x labels, 0 or 1, dense or sparse.
        groups: label indices by group name; adds ``<group>/micro_f1``, ``<group>/macro_f1``,
            ``<group>/macro_f1_absent_as_one`` and ``<group>/macro_average_precision``.
        inverse_propensities: of each label; adds ``psp_at_k``, ``psndcg_at_k`` and ``psr_at_k``.
        probability: whether scores are probabilities; adds ``brier_score``, ``log_loss``,
            ``calibration_error`` and ``<group>/calibration_error``.

    >>> compute_metrics(np.eye(2), np.eye(2), np.array([[1, 0], [1, 0]]))["precision_at_1"]
    1.0
    """
    judged = judge_scores(
        targets,
        scores,
        groups=groups,
        inverse_propensities=inverse_propensities,
        probability=probability,
    )
    by_label, by_document = count_predictions(targets, predictions, scores.shape)
    return {**judged.metrics, **prediction_metrics(by_label, by_document, groups)}


def judge_scores(
    targets: Matrix,
    scores: np.ndarray,
    *,
    groups: Groups | None = None,
    inverse_propensities: np.ndarray | None = None,
    probability: bool = False,
) -> ScoreStatistics:
    """Ranks and calibration, a block of documents at a time: no large matrix is dense as a whole.

    See ``compute_metrics`` for the arguments.
    """
    if not scores.shape[0]:
        raise ValueError("no documents to evaluate: the scores have no row")
    targets = require_shape(targets, scores.shape)
    blocks: list[dict[str, np.ndarray]] = []
    bins = np.zeros((3, scores.shape[1], BINS))
    for block in row_blocks(*scores.shape):
        truth, part = dense_rows(targets, block), scores[block]
        blocks.append(_terms(truth, part, inverse_propensities, probability))
        if probability:
            bins += count_bins(truth, part)
    terms = {name: np.concatenate([part[name] for part in blocks]) for name in blocks[0]}
    totals = {name: float(values.sum()) for name, values in terms.items()}
    metrics = {
        **average_terms(totals, len(scores)),
        **_empty_rows(terms, np.asarray(targets.sum(axis=1)).ravel(), scores.shape[1]),
        **_macro_average_precision(targets, scores, groups or {}),
        **(_calibration(bins, groups or {}) if probability else {}),
    }
    return ScoreStatistics(terms, {name: float(value) for name, value in metrics.items()})


def _terms(
    truth: np.ndarray,
    scores: np.ndarray,
    inverse_propensities: np.ndarray | None,
    probability: bool,
) -> dict[str, np.ndarray]:
    """What each document of a block adds to the metrics of scores."""
    if np.isnan(scores).any():
        raise ValueError("scores must be numbers, found nan: the model that gave them diverged")
    ranks = rank_positives(truth, scores)
    terms = ranking_metrics(ranks, truth)
    if inverse_propensities is not None:
        terms |= propensity_terms(ranks, inverse_propensities, truth)
    return terms | probability_metrics(truth, scores) if probability else terms


def _empty_rows(
    terms: Mapping[str, np.ndarray], positives: np.ndarray, labels: int
) -> dict[str, float]:
    """The other conventions for rows with no label, or with all."""
    some, both = positives > 0, (positives > 0) & (positives < labels)
    precisions, losses = terms["average_precision"], terms["ranking_loss"]
    return {
        "average_precision_empty_as_one": mean(precisions) + mean(~some),
        "average_precision_empty_skipped": mean(precisions[some]),
        "ranking_loss_undefined_skipped": mean(losses[both]),
    }


def _macro_average_precision(
    targets: Matrix, scores: np.ndarray, groups: Groups
) -> dict[str, float]:
    """Over all labels, over those with positives, and by group."""
    precisions, present = label_average_precision(targets, scores)
    name = "macro_average_precision"
    return {
        name: mean(precisions),
        f"{name}_absent_skipped": mean(precisions[present]),
        **{
            f"{group}/{name}": mean(precisions[np.asarray(labels, dtype=int)])
            for group, labels in groups.items()
        },
    }


def label_average_precision(targets: Matrix, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each label's average precision over documents, 0 without positives; and which have some.

    >>> label_average_precision(np.array([[0, 0], [1, 0]]), np.array([[0.9, 0.1], [0.8, 0.2]]))
    (array([0.5, 0. ]), array([ True, False]))
    """
    columns = targets.T if isinstance(targets, np.ndarray) else sparse.csr_array(targets.T)
    precisions, present = np.zeros(scores.shape[1]), np.zeros(scores.shape[1], dtype=bool)
    for block in row_blocks(*scores.shape[::-1]):
        truth = dense_rows(columns, block)
        ranks = rank_positives(truth, np.ascontiguousarray(scores[:, block].T))
        precisions[block] = average_precision(ranks, truth.sum(axis=1))
        present[block] = truth.any(axis=1)
    return precisions, present


def _calibration(bins: np.ndarray, groups: Groups) -> dict[str, float]:
    """Calibration error over all labels and by group; a group without labels has none."""
    parts: Groups = {
        "": range(bins.shape[1]),
        **{f"{name}/": labels for name, labels in groups.items()},
    }
    return {
        f"{name}{CALIBRATION}": calibration_error(bins[:, list(labels)].sum(axis=1))
        for name, labels in parts.items()
        if len(labels)
    }


def count_predictions(
    targets: Matrix, predictions: Matrix, shape: tuple[int, ...]
) -> tuple[Counts, Counts]:
    """Confusion counts by label and by document, in blocks."""
    targets, predictions = require_shape(targets, shape), require_shape(predictions, shape)
    by_label: Any = tuple(np.zeros(shape[1], dtype=np.int64) for _ in range(3))
    rows = []
    for block in row_blocks(*shape):
        truth, predicted = dense_rows(targets, block), dense_rows(predictions, block)
        added = confusion_counts(truth, predicted, axis=0)
        by_label = tuple(a + b for a, b in zip(by_label, added, strict=True))
        rows.append(confusion_counts(truth, predicted, axis=1))
    by_document: Any = tuple(np.concatenate(part) for part in zip(*rows, strict=True))
    return by_label, by_document


def prediction_metrics(
    by_label: Counts, by_document: Counts, groups: Groups | None = None
) -> dict[str, float]:
    """What follows from confusion counts by label and by document."""
    metrics = {
        **_label_metrics(by_label),
        **_document_metrics(by_document, len(by_label[0])),
        **_undefined(by_label, by_document),
    }
    for name, labels in (groups or {}).items():
        part = select_labels(by_label, labels)
        metrics[f"{name}/micro_f1"] = micro_f1(part)
        metrics[f"{name}/macro_f1"] = macro_f1(part)
        metrics[f"{name}/macro_f1_absent_as_one"] = mean(f1_empty_as_one(part))
    return metrics


def _label_metrics(counts: Counts) -> dict[str, float]:
    """Micro, macro and weighted averages.

    ``macro_f1`` is the mean of the labels' F1, ``macro_f1_of_averages`` the F1 of macro precision and
    macro recall (Opitz and Burst 2019).
    """
    tp, _, fn = counts
    positives = tp + fn
    metrics = {}
    for name, ratio in RATIOS.items():
        values = ratio(counts)
        metrics[f"micro_{name}"] = float(ratio(pool(counts))[0])
        metrics[f"macro_{name}"] = mean(values)
        metrics[f"weighted_{name}"] = float(values @ positives / max(positives.sum(), 1))
    metrics["macro_f1_absent_as_one"] = mean(f1_empty_as_one(counts))
    averages = np.array([metrics["macro_precision"], metrics["macro_recall"]])
    metrics["macro_f1_of_averages"] = float(harmonic_mean(*averages))
    return metrics


def _document_metrics(counts: Counts, labels: int) -> dict[str, float]:
    """Example-based averages: each document's labels by themselves, then the mean."""
    _, fp, fn = counts
    metrics = {f"example_{name}": mean(ratio(counts)) for name, ratio in RATIOS.items()}
    hamming = mean((fp + fn) / max(labels, 1))
    return {
        **metrics,
        "example_f1": mean(f1_empty_as_one(counts)),
        "example_f1_empty_as_zero": metrics["example_f1"],
        "subset_accuracy": mean(fp + fn == 0),
        "hamming_loss": hamming,
        "hamming_accuracy": 1.0 - hamming,
    }


def _undefined(by_label: Counts, by_document: Counts) -> dict[str, int]:
    """How many rows and labels have no positive, no prediction, or neither; rows with every label."""
    numbers = {}
    for name, counts in {"rows": by_document, "labels": by_label}.items():
        tp, fp, fn = counts
        numbers[f"undefined_{name}"] = int(undefined(counts).sum())
        numbers[f"{name}_without_predictions"] = int((tp + fp == 0).sum())
        without = "rows_without_labels" if name == "rows" else "labels_without_positives"
        numbers[without] = int((tp + fn == 0).sum())
    tp, _, fn = by_document
    return {**numbers, "rows_with_every_label": int((tp + fn == len(by_label[0])).sum())}
