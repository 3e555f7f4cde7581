"""Error analysis: confused labels, and F1 by number of labels and by label frequency."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.data.corpus_summary import cardinality_bands
from losslab.evaluation.confusion import (
    Counts,
    f1_by_label,
    label_counts,
    macro_f1,
    micro_f1,
    select_labels,
)

MAX_PAIRS = 20
MAX_POOLED = 100
POOLED_COLUMNS = ("missed", "predicted", "similar", "documents", "losses")
MAX_BANDS = 6
DECILES = 10


def analyse_errors(
    targets: sparse.csr_array,
    predictions: Sequence[Any],
    *,
    labels: Sequence[str],
    frequencies: Sequence[int],
    cardinality_limits: Sequence[int],
    label_groups: sparse.sparray | None = None,
) -> dict[str, Any]:
    """Errors of the test split, the mean over the predictions of several seeds.

    Args:
        targets: documents x labels, 0 or 1.
        predictions: for each seed, documents x labels, 0 or 1.
        labels: their names.
        frequencies: how many training documents carry each.
        cardinality_limits: of bands of labels per document, see ``cardinality_bands``.
        label_groups: labels x groups; pairs within a group are also counted by themselves.
    """
    truth = _as_integers(targets)
    predicted = [_as_integers(part) for part in predictions]
    number = np.diff(truth.indptr)
    bands = {
        f"{low}" if low == high else f"{low}-{high}": (low, high) for low, high in _bands(number)
    }
    return {
        **_confusions(truth, predicted, labels, label_groups),
        "by_cardinality": [
            {"labels": name} | _evaluate_rows(truth, predicted, (number >= low) & (number <= high))
            for name, (low, high) in cardinality_bands(cardinality_limits).items()
        ],
        "by_number_of_labels": [
            {"labels": name} | _evaluate_rows(truth, predicted, (number >= low) & (number <= high))
            for name, (low, high) in bands.items()
        ],
        "by_frequency_decile": _by_decile(truth, predicted, np.asarray(frequencies)),
        "f1_by_label": f1_by_label(truth, predicted).tolist(),
    }


def confused_pairs(truth: sparse.csr_array, predicted: sparse.csr_array) -> sparse.csr_array:
    """Labels x labels: in how many documents the first was missed and the second wrongly predicted."""
    tp = truth.multiply(predicted)
    return sparse.csr_array((truth - tp).T @ (predicted - tp))


def pool_confusions(
    targets: sparse.csr_array,
    predictions: Mapping[str, Sequence[Any]],
    *,
    labels: Sequence[str],
    label_groups: sparse.sparray,
) -> pd.DataFrame:
    """The pairs of labels that are confused most, summed over losses: what is hard whatever the loss.

    Args:
        targets: documents x labels, 0 or 1.
        predictions: by loss and seed, documents x labels, 0 or 1.
        labels: their names.
        label_groups: labels x groups; ``similar`` pairs share one.

    Returns ``missed predicted similar``, ``documents`` (the sum over losses of the mean over seeds),
    ``losses`` (how many confuse the pair at all), and a column of documents per loss.
    """
    truth, member = _as_integers(targets), _as_integers(label_groups)
    by_loss = {
        loss: _mean_pairs(truth, [_as_integers(part) for part in seeds])
        for loss, seeds in predictions.items()
    }
    pooled = sum(by_loss.values(), sparse.csr_array((len(labels), len(labels)))).tocoo()
    order = np.argsort(-pooled.data, kind="stable")[:MAX_POOLED]
    missed, predicted = pooled.row[order], pooled.col[order]
    counts = {loss: _entries(matrix, missed, predicted) for loss, matrix in by_loss.items()}
    similar = _entries(sparse.csr_array(member @ member.T), missed, predicted) > 0
    confusing = sum((part > 0 for part in counts.values()), np.zeros(len(order), dtype=int))
    facts = (missed, predicted, similar, pooled.data[order], confusing)
    table = pd.DataFrame({**dict(zip(POOLED_COLUMNS, facts, strict=True)), **counts})
    names = {column: table[column].map(labels.__getitem__) for column in ("missed", "predicted")}
    return table.assign(**names)


def _mean_pairs(truth: sparse.csr_array, predicted: Sequence[sparse.csr_array]) -> sparse.csr_array:
    """``confused_pairs``, the mean over seeds."""
    totals = sum(confused_pairs(truth, part).astype(float) for part in predicted)
    return sparse.csr_array(totals / len(predicted))


def _entries(matrix: sparse.csr_array, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Single entries of a sparse matrix."""
    return np.array([matrix[place] for place in zip(rows, columns, strict=True)], dtype=float)


def _confusions(
    truth: sparse.csr_array,
    predicted: Sequence[sparse.csr_array],
    labels: Sequence[str],
    label_groups: sparse.sparray | None,
) -> dict[str, Any]:
    counts = _mean_pairs(truth, predicted)
    confusions: dict[str, Any] = {
        "confusions": float(counts.sum()),
        "pairs": _most_confused(counts, labels),
    }
    if label_groups is not None:
        member = _as_integers(label_groups)
        within = sparse.csr_array(counts.multiply((member @ member.T) > 0))
        confusions["confusions_within_groups"] = float(within.sum())
        confusions["pairs_within_groups"] = _most_confused(within, labels)
    return confusions


def _most_confused(counts: sparse.csr_array, labels: Sequence[str]) -> list[dict[str, Any]]:
    pairs = counts.tocoo()
    order = np.argsort(-pairs.data, kind="stable")[:MAX_PAIRS]
    return [
        {"missed": labels[row], "predicted": labels[column], "documents": float(number)}
        for row, column, number in zip(
            pairs.row[order], pairs.col[order], pairs.data[order], strict=True
        )
        if number > 0
    ]


def _bands(number: np.ndarray) -> list[tuple[int, int]]:
    """Bands of label cardinality: each number by itself, or quantiles where there are many."""
    values = np.unique(number)
    if len(values) > MAX_BANDS:
        shares = np.linspace(0, 1, MAX_BANDS + 1)[:-1]
        starts = np.unique(np.quantile(number, shares, method="lower"))
    else:
        starts = values
    ends = [*(starts[1:] - 1), values[-1]]
    return [(int(start), int(end)) for start, end in zip(starts, ends, strict=True)]


def _evaluate_rows(
    truth: sparse.csr_array, predicted: Sequence[sparse.csr_array], rows: np.ndarray
) -> dict[str, Any]:
    """Micro- and macro-F1 over all labels, of some documents."""
    counts = [label_counts(truth[rows], part[rows]) for part in predicted]
    return {"documents": int(rows.sum()), **_mean_f1(counts)}


def _by_decile(
    truth: sparse.csr_array, predicted: Sequence[sparse.csr_array], frequencies: np.ndarray
) -> list[dict[str, Any]]:
    """Tenths of the labels, the most frequent in training first."""
    counts = [label_counts(truth, part) for part in predicted]
    order = np.argsort(-frequencies, kind="stable")
    return [
        {
            "decile": decile,
            "labels": len(part),
            "least_frequent": int(frequencies[part].min()),
            "most_frequent": int(frequencies[part].max()),
            **_mean_f1([select_labels(seed, part) for seed in counts]),
        }
        for decile, part in enumerate(np.array_split(order, DECILES), start=1)
        if len(part)
    ]


def _mean_f1(counts: Sequence[Counts]) -> dict[str, float]:
    return {
        "micro_f1": float(np.mean([micro_f1(seed) for seed in counts])),
        "macro_f1": float(np.mean([macro_f1(seed) for seed in counts])),
    }


def _as_integers(matrix: Any) -> sparse.csr_array:
    """0 and 1 as numbers that can be added up."""
    return sparse.csr_array(sparse.csr_array(matrix).astype(bool).astype(np.int64))
