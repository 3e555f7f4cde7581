"""How sure a figure is: the bootstrap over test documents.

A resample draws as many documents as there are, with replacement. Instead of copying documents it
counts how often each was drawn, and the counts by label of all resamples are one product of these
numbers with the documents' own counts. Every loss is judged on the same resamples, so that a
difference between two losses is not blurred by which documents were drawn.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy import sparse

from losslab.evaluation.counts import BLOCK, Matrix, f1_empty_as_one, ratio, sliceable
from losslab.evaluation.metrics import judge

NORMAL = NormalDist()
Figures = dict[str, np.ndarray]


def resample_metrics(
    targets: Matrix,
    scores: np.ndarray,
    predictions: Matrix,
    *,
    resamples: int,
    seed: int,
    groups: Mapping[str, Sequence[int]] | None = None,
) -> Figures:
    """Metrics of each resample of documents: an array of ``resamples`` figures by name.

    ``micro_f1 macro_f1 weighted_f1``, ``<group>/micro_f1`` and ``<group>/macro_f1`` for each of
    ``groups``, ``example_f1 subset_accuracy average_precision ranking_loss``. The same ``seed``
    draws the same documents for every loss.
    """
    truth, guess = (
        sparse.csr_array(sliceable(matrix, scores.shape)).astype(bool).astype(np.float32)
        for matrix in (targets, predictions)
    )
    parts = [matrix.T.tocsr() for matrix in (truth.multiply(guess), truth, guess)]
    by_document = _document_figures(targets, scores, predictions)
    drawn = []
    for times in draw_documents(*scores.shape, resamples=resamples, seed=seed):
        hits, carried, predicted = (part @ times for part in parts)
        drawn.append(
            {
                **_label_figures(hits, carried, carried + predicted, groups or {}),
                **{name: values @ times / len(times) for name, values in by_document.items()},
            }
        )
    return {name: np.concatenate([part[name] for part in drawn]) for name in drawn[0]}


def draw_documents(
    documents: int, labels: int, *, resamples: int, seed: int
) -> Iterator[np.ndarray]:
    """How often each document is in each resample: blocks of documents x resamples."""
    random = np.random.default_rng(seed)
    size = max(min(resamples, BLOCK // max(documents, labels)), 1)
    for start in range(0, resamples, size):
        number = min(size, resamples - start)
        places = random.integers(documents, size=(documents, number)) * number + np.arange(number)
        times = np.bincount(places.ravel(), minlength=documents * number)
        yield times.reshape(documents, number).astype(np.float32)


def _label_figures(
    hits: np.ndarray, carried: np.ndarray, both: np.ndarray, groups: Mapping[str, Sequence[int]]
) -> Figures:
    """F1 by resample, of labels x resamples; ``both``: carried plus predicted."""
    by_label = ratio(2 * hits, both)
    figures = {
        "micro_f1": _micro(hits, both),
        "macro_f1": _macro(by_label),
        "weighted_f1": ratio(_total(by_label * carried), _total(carried)),
    }
    for name, labels in groups.items():
        own = list(labels)
        figures[f"{name}/micro_f1"] = _micro(hits[own], both[own])
        figures[f"{name}/macro_f1"] = _macro(by_label[own])
    return figures


def _micro(hits: np.ndarray, both: np.ndarray) -> np.ndarray:
    return ratio(2 * _total(hits), _total(both))


def _macro(by_label: np.ndarray) -> np.ndarray:
    return _total(by_label) / max(len(by_label), 1)


def _total(values: np.ndarray) -> np.ndarray:
    return np.asarray(values.sum(axis=0, dtype=float))


def _document_figures(targets: Matrix, scores: np.ndarray, predictions: Matrix) -> Figures:
    judgement = judge(targets, scores, predictions)
    _, wrong, missed = judgement.by_document
    return {
        "example_f1": f1_empty_as_one(judgement.by_document),
        "subset_accuracy": (wrong + missed == 0).astype(float),
        **{name: judgement.ranking[name] for name in ("average_precision", "ranking_loss")},
    }


def average_seeds(figures: Sequence[Figures]) -> Figures:
    """The mean over seeds of each resample: a loss is judged by its seeds together."""
    return {name: np.mean([part[name] for part in figures], axis=0) for name in figures[0]}


def interval(values: np.ndarray, confidence: float) -> tuple[float, float]:
    """The percentile interval.

    >>> interval(np.arange(101.0), 0.5)
    (25.0, 75.0)
    """
    outside = (1 - confidence) / 2
    low, high = np.quantile(values, [outside, 1 - outside])
    return float(low), float(high)


def corrected_interval(
    values: np.ndarray, observed: float, confidence: float
) -> tuple[float, float]:
    """Percentiles, moved so that ``observed`` is the median of its resamples (Efron 1981).

    Resamples lack labels that the documents have, so their macro-F1 is too low on the whole. Where
    hardly a resample reaches ``observed``, the interval is widened to hold it.

    >>> [round(end) for end in corrected_interval(np.arange(101.0), 60.0, 0.5)]
    [43, 88]
    """
    below = ((values < observed).sum() + (values <= observed).sum() + 1) / (2 * len(values) + 2)
    middle, outside = 2 * NORMAL.inv_cdf(below), NORMAL.inv_cdf((1 - confidence) / 2)
    ends = [NORMAL.cdf(middle + outside), NORMAL.cdf(middle - outside)]
    low, high = np.quantile(values, ends)
    return float(min(low, observed)), float(max(high, observed))


def intervals(
    figures: Figures, observed: Mapping[str, float], confidence: float
) -> dict[str, dict[str, float]]:
    """``low`` and ``high`` of each metric that is ``observed`` on all documents."""
    return {
        name: dict(
            zip(("low", "high"), corrected_interval(drawn, observed[name], confidence), strict=True)
        )
        for name, drawn in figures.items()
    }


def compare_with_reference(
    values: Mapping[str, Mapping[str, float]],
    figures: Mapping[str, Figures],
    *,
    reference: str,
    confidence: float,
    unpaired: Sequence[str] = (),
) -> dict[str, dict[str, dict[str, float | None]]]:
    """By loss and metric: value, interval, and its difference to the reference's.

    ``values`` are the metrics on all documents, ``figures`` those of each resample. ``p`` is twice
    the share of resamples on the other side of no difference, ``p_holm`` the same after Holm's
    correction over the losses. A loss of ``unpaired``, like the reference itself, has None there.
    """
    told: dict[str, dict[str, dict[str, float | None]]] = {}
    compared = [name for name in figures if name != reference and name not in unpaired]
    for loss, drawn in figures.items():
        told[loss] = {}
        for metric, bounds in intervals(drawn, values[loss], confidence).items():
            entry: dict[str, Any] = {"value": values[loss][metric], **bounds}
            if loss in compared:
                against = values[reference][metric], figures[reference][metric]
                entry |= _difference(entry["value"], drawn[metric], *against, confidence)
            told[loss][metric] = _NOTHING | entry
    for metric in figures[reference]:
        corrected = holm([told[loss][metric]["p"] or 0.0 for loss in compared])
        for loss, p in zip(compared, corrected, strict=True):
            told[loss][metric]["p_holm"] = p
    return told


_NOTHING = dict.fromkeys(("difference", "difference_low", "difference_high", "p", "p_holm"))


def _difference(
    value: float, drawn: np.ndarray, other: float, others: np.ndarray, confidence: float
) -> dict[str, float]:
    differences = drawn - others
    low, high = interval(differences, confidence)
    return {
        "difference": value - other,
        "difference_low": low,
        "difference_high": high,
        "p": two_sided(differences),
    }


def two_sided(differences: np.ndarray) -> float:
    """The p-value of differences drawn by a paired bootstrap: twice the smaller side's share.

    No difference at all counts for both sides, and the data as they are for one resample more, so
    that no p is 0.

    >>> round(two_sided(np.array([-1.0, 1.0, 2.0, 3.0])), 3)
    0.8
    """
    smaller = min((differences <= 0).sum(), (differences >= 0).sum())
    return float(min(2 * (smaller + 1) / (len(differences) + 1), 1.0))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction for several comparisons, in the order given.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    factors = len(order) - np.arange(len(order))
    corrected = np.minimum(np.maximum.accumulate(np.asarray(p_values)[order] * factors), 1.0)
    result = np.empty(len(order))
    result[order] = corrected
    return [float(p) for p in result]
