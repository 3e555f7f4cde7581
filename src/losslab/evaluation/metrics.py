"""Metrics of multi-label classification on documents x labels matrices.

Papers differ on undefined cases, so both readings are given. ``macro_f1`` counts a label with
neither positives nor predictions as 0 (Huang et al.), ``macro_f1_absent_as_one`` as 1 (ZLPR).
``example_f1`` counts an empty prediction of an empty row as 1, ``average_precision`` an empty row as
0 and ``ranking_loss`` an empty or full row as 0 (all ZLPR); ``example_f1_empty_as_zero``,
``average_precision_empty_as_one``, ``…_empty_skipped`` and ``ranking_loss_undefined_skipped`` are
the others. The counts of labels and rows concerned are given, too.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from losslab.evaluation.confusion import (
    Counts,
    Matrix,
    confusion_counts,
    dense_rows,
    f1,
    f1_empty_as_one,
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
from losslab.evaluation.ranking_metrics import ranking_metrics

RATIOS = {"precision": precision, "recall": recall, "f1": f1}
LOWER_IS_BETTER = frozenset(
    {
        "hamming_loss",
        "ranking_loss",
        "ranking_loss_undefined_skipped",
        "calibration_error",
        "minutes",
    }
)
"""Of all that losses are compared by; of everything else higher is better."""


@dataclass(frozen=True)
class DocumentStatistics:
    """Sufficient statistics: confusion counts by label and by document, ranking metrics."""

    by_label: Counts
    by_document: Counts
    ranking: dict[str, np.ndarray]


def compute_metrics(
    targets: Matrix,
    scores: np.ndarray,
    predictions: Matrix,
    *,
    groups: Mapping[str, Sequence[int]] | None = None,
) -> dict[str, float]:
    """Every metric by name.

    Args:
        targets: documents x labels, 0 or 1, dense or sparse.
        scores: documents x labels, higher means likelier; only their order in a row counts.
        predictions: documents x labels, 0 or 1, dense or sparse.
        groups: label indices by group name; adds ``<group>/micro_f1``, ``<group>/macro_f1`` and
            ``<group>/macro_f1_absent_as_one``.

    >>> compute_metrics(np.eye(2), np.eye(2), np.array([[1, 0], [1, 0]]))["precision_at_1"]
    1.0
    """
    statistics = count_and_rank(targets, scores, predictions)
    metrics = {
        **_label_metrics(statistics.by_label),
        **_document_metrics(statistics.by_document, scores.shape[1]),
        **_ranking_metrics(statistics, scores.shape[1]),
        **_undefined(statistics),
    }
    for name, labels in (groups or {}).items():
        part = select_labels(statistics.by_label, labels)
        metrics[f"{name}/micro_f1"] = micro_f1(part)
        metrics[f"{name}/macro_f1"] = macro_f1(part)
        metrics[f"{name}/macro_f1_absent_as_one"] = mean(f1_empty_as_one(part))
    return metrics


def count_and_rank(targets: Matrix, scores: np.ndarray, predictions: Matrix) -> DocumentStatistics:
    """Counts and ranks, a block of documents at a time: no large matrix is dense as a whole."""
    shape = scores.shape
    if not shape[0]:
        raise ValueError("no documents to evaluate: the scores have no row")
    targets, predictions = require_shape(targets, shape), require_shape(predictions, shape)
    by_label: Any = tuple(np.zeros(shape[1], dtype=np.int64) for _ in range(3))
    rows, ranking = [], []
    for block in row_blocks(*shape):
        truth, predicted = dense_rows(targets, block), dense_rows(predictions, block)
        added = confusion_counts(truth, predicted, axis=0)
        by_label = tuple(a + b for a, b in zip(by_label, added, strict=True))
        rows.append(confusion_counts(truth, predicted, axis=1))
        ranking.append(ranking_metrics(truth, scores[block]))
    by_document: Any = tuple(np.concatenate(part) for part in zip(*rows, strict=True))
    joined = {name: np.concatenate([part[name] for part in ranking]) for name in ranking[0]}
    return DocumentStatistics(by_label, by_document, joined)


def _label_metrics(counts: Counts) -> dict[str, float]:
    """Micro, macro and weighted averages."""
    tp, _, fn = counts
    positives = tp + fn
    metrics = {}
    for name, ratio in RATIOS.items():
        values = ratio(counts)
        metrics[f"micro_{name}"] = float(ratio(pool(counts))[0])
        metrics[f"macro_{name}"] = mean(values)
        metrics[f"weighted_{name}"] = float(values @ positives / max(positives.sum(), 1))
    metrics["macro_f1_absent_as_one"] = mean(f1_empty_as_one(counts))
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


def _ranking_metrics(statistics: DocumentStatistics, labels: int) -> dict[str, float]:
    tp, _, fn = statistics.by_document
    positives = tp + fn
    some, both = positives > 0, (positives > 0) & (positives < labels)
    metrics = {name: mean(values) for name, values in statistics.ranking.items()}
    values, losses = statistics.ranking["average_precision"], statistics.ranking["ranking_loss"]
    return {
        **metrics,
        "average_precision_empty_as_one": metrics["average_precision"] + mean(~some),
        "average_precision_empty_skipped": mean(values[some]),
        "ranking_loss_undefined_skipped": mean(losses[both]),
        "rows_with_every_label": int((positives == labels).sum()),
    }


def _undefined(statistics: DocumentStatistics) -> dict[str, int]:
    """How many rows and labels have no positive, no prediction, or neither."""
    numbers = {}
    for name, counts in {"rows": statistics.by_document, "labels": statistics.by_label}.items():
        tp, fp, fn = counts
        numbers[f"undefined_{name}"] = int(undefined(counts).sum())
        numbers[f"{name}_without_predictions"] = int((tp + fp == 0).sum())
        without = "rows_without_labels" if name == "rows" else "labels_without_positives"
        numbers[without] = int((tp + fn == 0).sum())
    return numbers
