"""Metrics of multi-label classification on documents x labels matrices.

Papers differ on undefined cases, so both readings are given. ``macro_f1`` counts a label with
neither positives nor predictions as 0 (Huang et al.), ``macro_f1_absent_as_one`` as 1 (ZLPR).
``example_f1`` counts an empty prediction of an empty row as 1, ``average_precision`` an empty row as
0 and ``ranking_loss`` an empty or full row as 0 (all ZLPR); ``example_f1_empty_as_zero``,
``average_precision_empty_as_one``, ``…_empty_skipped`` and ``ranking_loss_undefined_skipped`` are
the others. The last figures count the labels and rows concerned.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from losslab.evaluation.counts import (
    Counts,
    Matrix,
    choose,
    count,
    dense_rows,
    empty,
    f1,
    f1_empty_as_one,
    mean,
    pool,
    precision,
    recall,
    row_blocks,
    sliceable,
)
from losslab.evaluation.ranks import rank_metrics

RATIOS = {"precision": precision, "recall": recall, "f1": f1}
LOWER_IS_BETTER = frozenset({"hamming_loss", "ranking_loss", "ranking_loss_undefined_skipped"})


@dataclass(frozen=True)
class Judgement:
    """What every metric is made of: counts by label, counts and rank metrics by document."""

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
    judgement = judge(targets, scores, predictions)
    metrics = {
        **_label_metrics(judgement.by_label),
        **_document_metrics(judgement.by_document, scores.shape[1]),
        **_ranking_metrics(judgement, scores.shape[1]),
        **_undefined(judgement),
    }
    for name, labels in (groups or {}).items():
        part = choose(judgement.by_label, labels)
        metrics[f"{name}/micro_f1"] = float(f1(pool(part))[0])
        metrics[f"{name}/macro_f1"] = mean(f1(part))
        metrics[f"{name}/macro_f1_absent_as_one"] = mean(f1_empty_as_one(part))
    return metrics


def judge(targets: Matrix, scores: np.ndarray, predictions: Matrix) -> Judgement:
    """Count and rank, a block of documents at a time: large matrices are never dense as a whole."""
    shape = scores.shape
    if not shape[0]:
        raise ValueError("no documents to judge: the scores have no row")
    targets, predictions = sliceable(targets, shape), sliceable(predictions, shape)
    by_label: Any = tuple(np.zeros(shape[1], dtype=np.int64) for _ in range(3))
    rows, ranking = [], []
    for block in row_blocks(*shape):
        truth, guess = dense_rows(targets, block), dense_rows(predictions, block)
        by_label = tuple(a + b for a, b in zip(by_label, count(truth, guess, axis=0), strict=True))
        rows.append(count(truth, guess, axis=1))
        ranking.append(rank_metrics(truth, scores[block]))
    by_document: Any = tuple(np.concatenate(part) for part in zip(*rows, strict=True))
    joined = {name: np.concatenate([part[name] for part in ranking]) for name in ranking[0]}
    return Judgement(by_label, by_document, joined)


def _label_metrics(counts: Counts) -> dict[str, float]:
    """Micro, macro and weighted averages."""
    hits, _, missed = counts
    positives = hits + missed
    metrics = {}
    for name, ratio in RATIOS.items():
        values = ratio(counts)
        metrics[f"micro_{name}"] = float(ratio(pool(counts))[0])
        metrics[f"macro_{name}"] = mean(values)
        metrics[f"weighted_{name}"] = float(values @ positives / max(positives.sum(), 1))
    metrics["macro_f1_absent_as_one"] = mean(f1_empty_as_one(counts))
    return metrics


def _document_metrics(counts: Counts, labels: int) -> dict[str, float]:
    """Averages over documents of what each one's decisions are worth."""
    _, wrong, missed = counts
    metrics = {f"example_{name}": mean(ratio(counts)) for name, ratio in RATIOS.items()}
    hamming = mean((wrong + missed) / max(labels, 1))
    return {
        **metrics,
        "example_f1": mean(f1_empty_as_one(counts)),
        "example_f1_empty_as_zero": metrics["example_f1"],
        "subset_accuracy": mean(wrong + missed == 0),
        "hamming_loss": hamming,
        "accuracy": 1.0 - hamming,
    }


def _ranking_metrics(judgement: Judgement, labels: int) -> dict[str, float]:
    hits, _, missed = judgement.by_document
    positives = hits + missed
    some, both = positives > 0, (positives > 0) & (positives < labels)
    metrics = {name: mean(values) for name, values in judgement.ranking.items()}
    values, losses = judgement.ranking["average_precision"], judgement.ranking["ranking_loss"]
    return {
        **metrics,
        "average_precision_empty_as_one": metrics["average_precision"] + mean(~some),
        "average_precision_empty_skipped": mean(values[some]),
        "ranking_loss_undefined_skipped": mean(losses[both]),
        "rows_with_every_label": int((positives == labels).sum()),
    }


def _undefined(judgement: Judgement) -> dict[str, int]:
    """How many rows and labels have no positive, no prediction, or neither."""
    found = {}
    for name, counts in {"rows": judgement.by_document, "labels": judgement.by_label}.items():
        hits, wrong, missed = counts
        found[f"undefined_{name}"] = int(empty(counts).sum())
        found[f"{name}_without_predictions"] = int((hits + wrong == 0).sum())
        without = "rows_without_labels" if name == "rows" else "labels_without_positives"
        found[without] = int((hits + missed == 0).sum())
    return found
