"""Where a loss goes wrong: labels it confuses, documents and labels it finds hard."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from losslab.evaluation.counts import Counts, choose, f1, macro_f1, micro_f1

MOST_PAIRS = 20
MOST_BANDS = 6
DECILES = 10


def analyse_errors(
    targets: sparse.csr_array,
    predictions: Sequence[Any],
    *,
    labels: Sequence[str],
    frequencies: Sequence[int],
    label_groups: sparse.sparray | None = None,
) -> dict[str, Any]:
    """What is missed and mistaken in test documents, the mean over predictions of several seeds.

    Args:
        targets: documents x labels, 0 or 1.
        predictions: for each seed, documents x labels, 0 or 1.
        labels: their names.
        frequencies: how many training documents carry each.
        label_groups: labels x groups; pairs within a group are told apart.
    """
    truth = _flags(targets)
    guesses = [_flags(guess) for guess in predictions]
    number = np.diff(truth.indptr)
    bands = {
        f"{low}" if low == high else f"{low}-{high}": (low, high) for low, high in _bands(number)
    }
    return {
        **_confusions(truth, guesses, labels, label_groups),
        "by_documents": {
            "single": _judge_rows(truth, guesses, number == 1),
            "several": _judge_rows(truth, guesses, number > 1),
        },
        "by_number_of_labels": [
            {"labels": name} | _judge_rows(truth, guesses, (number >= low) & (number <= high))
            for name, (low, high) in bands.items()
        ],
        "by_frequency_decile": _by_decile(truth, guesses, np.asarray(frequencies)),
        "f1_by_label": np.mean([f1(_count(truth, guess)) for guess in guesses], axis=0).tolist(),
    }


def confused_pairs(truth: sparse.csr_array, guess: sparse.csr_array) -> sparse.csr_array:
    """Labels x labels: in how many documents the first was missed and the second wrongly predicted."""
    hits = truth.multiply(guess)
    return sparse.csr_array((truth - hits).T @ (guess - hits))


def _confusions(
    truth: sparse.csr_array,
    guesses: Sequence[sparse.csr_array],
    labels: Sequence[str],
    label_groups: sparse.sparray | None,
) -> dict[str, Any]:
    counts = sum(confused_pairs(truth, guess).astype(float) for guess in guesses) / len(guesses)
    counts = sparse.csr_array(counts)
    told: dict[str, Any] = {
        "confusions": float(counts.sum()),
        "pairs": _most_confused(counts, labels),
    }
    if label_groups is not None:
        alike = _flags(label_groups)
        within = sparse.csr_array(counts.multiply((alike @ alike.T) > 0))
        told["confusions_within_groups"] = float(within.sum())
        told["pairs_within_groups"] = _most_confused(within, labels)
    return told


def _most_confused(counts: sparse.csr_array, labels: Sequence[str]) -> list[dict[str, Any]]:
    pairs = counts.tocoo()
    order = np.argsort(-pairs.data, kind="stable")[:MOST_PAIRS]
    return [
        {"missed": labels[row], "predicted": labels[column], "documents": float(number)}
        for row, column, number in zip(
            pairs.row[order], pairs.col[order], pairs.data[order], strict=True
        )
        if number > 0
    ]


def _bands(number: np.ndarray) -> list[tuple[int, int]]:
    """Numbers of labels as bands: each by itself, or quantiles where there are many."""
    values = np.unique(number)
    if len(values) > MOST_BANDS:
        shares = np.linspace(0, 1, MOST_BANDS + 1)[:-1]
        starts = np.unique(np.quantile(number, shares, method="lower"))
    else:
        starts = values
    ends = [*(starts[1:] - 1), values[-1]]
    return [(int(start), int(end)) for start, end in zip(starts, ends, strict=True)]


def _judge_rows(
    truth: sparse.csr_array, guesses: Sequence[sparse.csr_array], rows: np.ndarray
) -> dict[str, Any]:
    """Micro- and macro-F1 over all labels, of some documents."""
    counts = [_count(truth[rows], guess[rows]) for guess in guesses]
    return {"documents": int(rows.sum()), **_mean_f1(counts)}


def _by_decile(
    truth: sparse.csr_array, guesses: Sequence[sparse.csr_array], frequencies: np.ndarray
) -> list[dict[str, Any]]:
    """Tenths of the labels, the most frequent in training first."""
    counts = [_count(truth, guess) for guess in guesses]
    order = np.argsort(-frequencies, kind="stable")
    return [
        {
            "decile": place,
            "labels": len(part),
            "least_frequent": int(frequencies[part].min()),
            "most_frequent": int(frequencies[part].max()),
            **_mean_f1([choose(figures, part) for figures in counts]),
        }
        for place, part in enumerate(np.array_split(order, DECILES), start=1)
        if len(part)
    ]


def _mean_f1(counts: Sequence[Counts]) -> dict[str, float]:
    return {
        "micro_f1": float(np.mean([micro_f1(figures) for figures in counts])),
        "macro_f1": float(np.mean([macro_f1(figures) for figures in counts])),
    }


def _count(truth: sparse.csr_array, guess: sparse.csr_array) -> Counts:
    hits = truth.multiply(guess).sum(axis=0)
    return hits, guess.sum(axis=0) - hits, truth.sum(axis=0) - hits


def _flags(matrix: Any) -> sparse.csr_array:
    """0 and 1 as numbers that can be added up."""
    return sparse.csr_array(sparse.csr_array(matrix).astype(bool).astype(np.int64))
