"""Bootstrap over test documents: confidence intervals and paired comparisons of losses.

A resample draws as many documents as there are, with replacement. Instead of copying documents it
counts how often each was drawn; the confusion counts of all resamples are then one product of these
multiplicities with the documents' own counts. Every loss is evaluated on the same resamples, so
that differences between losses are paired.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy import sparse

from losslab.evaluation.confusion import (
    BLOCK,
    Matrix,
    f1_empty_as_one,
    harmonic_mean,
    ratio,
    require_shape,
)
from losslab.evaluation.metrics import ScoreStatistics, count_predictions, judge_scores
from losslab.evaluation.propensity import BEST, average_terms

NORMAL = NormalDist()
Resamples = dict[str, np.ndarray]
RESAMPLED = (
    "average_precision",
    "ranking_loss",
    "coverage_error",
    "one_error",
    "r_precision_at_5",
    "psp_at_1",
    "psp_at_3",
    "psp_at_5",
    "psndcg_at_5",
    "psr_at_5",
    "brier_score",
    "log_loss",
)
"""Metrics of the scores that are resampled, where they are defined."""


def resample_metrics(
    targets: Matrix,
    scores: np.ndarray,
    predictions: Matrix,
    *,
    resamples: int,
    seed: int,
    groups: Mapping[str, Sequence[int]] | None = None,
    inverse_propensities: np.ndarray | None = None,
    probability: bool = False,
) -> Resamples:
    """Metrics of each bootstrap resample: an array of ``resamples`` values by name.

    ``micro_f1 macro_f1 macro_f1_of_averages weighted_f1``, ``<group>/micro_f1`` and
    ``<group>/macro_f1`` for each of ``groups``, ``example_f1 subset_accuracy`` and those of
    ``RESAMPLED`` that ``compute_metrics`` gives, too. The same ``seed`` draws the same documents for
    every loss.
    """
    judged = judge_scores(
        targets, scores, inverse_propensities=inverse_propensities, probability=probability
    )
    (only,) = resample_rules(
        targets, judged, [predictions], resamples=resamples, seed=seed, groups=groups or {}
    )
    return only


def resample_rules(
    targets: Matrix,
    judged: ScoreStatistics,
    predictions: Sequence[Matrix],
    *,
    resamples: int,
    seed: int,
    groups: Mapping[str, Sequence[int]],
) -> list[Resamples]:
    """``resample_metrics`` of the predictions of several rules, on resamples drawn once."""
    shape = targets.shape
    truth = _by_label(targets, shape)
    labels = [_by_label(part, shape) for part in predictions]
    true_positives = [sparse.csr_array(truth.multiply(part)) for part in labels]
    of_scores = _resampled_terms(judged)
    of_rules = [_document_terms(targets, part) for part in predictions]
    blocks: list[list[Resamples]] = [[] for _ in predictions]
    for times in draw_documents(*shape, resamples=resamples, seed=seed):
        positives, weights = truth @ times, times.astype(float)
        shared = _average(of_scores, weights)
        for rule, done in enumerate(blocks):
            tp, predicted = true_positives[rule] @ times, labels[rule] @ times
            by_label = _label_metrics(tp, positives, predicted, groups)
            done.append({**by_label, **_average(of_rules[rule], weights), **shared})
    return [_join(done) for done in blocks]


def _resampled_terms(judged: ScoreStatistics) -> dict[str, np.ndarray]:
    """The terms of ``RESAMPLED`` that there are, and what they reach at best."""
    names = [f"{name}{end}" for name in RESAMPLED for end in ("", BEST)]
    return {name: judged.terms[name] for name in names if name in judged.terms}


def _average(terms: Mapping[str, np.ndarray], weights: np.ndarray) -> Resamples:
    """By resample: the mean of each term over the documents drawn."""
    totals = np.stack(list(terms.values())) @ weights
    averages: Resamples = average_terms(dict(zip(terms, totals, strict=True)), len(weights))
    return averages


def _by_label(matrix: Matrix, shape: tuple[int, ...]) -> sparse.csr_array:
    """Labels x documents of 0 and 1, as a factor of products."""
    rows = sparse.csr_array(require_shape(matrix, shape)).astype(bool).astype(np.float32)
    return sparse.csr_array(rows.T)


def _join(blocks: Sequence[Resamples]) -> Resamples:
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def draw_documents(
    documents: int, labels: int, *, resamples: int, seed: int
) -> Iterator[np.ndarray]:
    """How often each document is in each resample: blocks of documents x resamples."""
    random = np.random.default_rng(seed)
    size = max(min(resamples, BLOCK // max(documents, labels)), 1)
    for start in range(0, resamples, size):
        number = min(size, resamples - start)
        cells = random.integers(documents, size=(documents, number)) * number + np.arange(number)
        times = np.bincount(cells.ravel(), minlength=documents * number)
        yield times.reshape(documents, number).astype(np.float32)


def _label_metrics(
    tp: np.ndarray,
    positives: np.ndarray,
    predicted: np.ndarray,
    groups: Mapping[str, Sequence[int]],
) -> Resamples:
    """F1 by resample, of labels x resamples."""
    denominator = positives + predicted
    by_label = ratio(2 * tp, denominator)
    averages = (_macro(ratio(tp, number)) for number in (predicted, positives))
    metrics = {
        "micro_f1": _micro(tp, denominator),
        "macro_f1": _macro(by_label),
        "macro_f1_of_averages": harmonic_mean(*averages),
        "weighted_f1": ratio(_total(by_label * positives), _total(positives)),
    }
    for name, labels in groups.items():
        rows = list(labels)
        metrics[f"{name}/micro_f1"] = _micro(tp[rows], denominator[rows])
        metrics[f"{name}/macro_f1"] = _macro(by_label[rows])
    return metrics


def _micro(tp: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    return ratio(2 * _total(tp), _total(denominator))


def _macro(by_label: np.ndarray) -> np.ndarray:
    return _total(by_label) / max(len(by_label), 1)


def _total(values: np.ndarray) -> np.ndarray:
    return np.asarray(values.sum(axis=0, dtype=float))


def _document_terms(targets: Matrix, predictions: Matrix) -> dict[str, np.ndarray]:
    """Metrics of a rule's predictions that are means over documents, by document."""
    _, counts = count_predictions(targets, predictions, targets.shape)
    _, fp, fn = counts
    exact = (fp + fn == 0).astype(float)
    return {"example_f1": f1_empty_as_one(counts), "subset_accuracy": exact}


def average_seeds(resamples: Sequence[Resamples]) -> Resamples:
    """The mean over seeds within each resample."""
    return {name: np.mean([part[name] for part in resamples], axis=0) for name in resamples[0]}


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
    """The bias-corrected percentile interval (Efron 1981): ``observed`` is taken for the median.

    Resamples lack labels that the documents have, so their macro-F1 is biased downwards. Where
    hardly a resample reaches ``observed``, the interval is widened to contain it.

    >>> [round(end) for end in corrected_interval(np.arange(101.0), 60.0, 0.5)]
    [43, 88]
    """
    below = ((values < observed).sum() + (values <= observed).sum() + 1) / (2 * len(values) + 2)
    middle, outside = 2 * NORMAL.inv_cdf(below), NORMAL.inv_cdf((1 - confidence) / 2)
    ends = [NORMAL.cdf(middle + outside), NORMAL.cdf(middle - outside)]
    low, high = np.quantile(values, ends)
    return float(min(low, observed)), float(max(high, observed))


def intervals(
    resamples: Resamples, observed: Mapping[str, float], confidence: float
) -> dict[str, dict[str, float]]:
    """``low`` and ``high`` of each metric that is ``observed`` on all documents."""
    return {
        name: dict(
            zip(("low", "high"), corrected_interval(drawn, observed[name], confidence), strict=True)
        )
        for name, drawn in resamples.items()
    }


def compare_with_reference(
    values: Mapping[str, Mapping[str, float]],
    resamples: Mapping[str, Resamples],
    *,
    reference: str,
    confidence: float,
    unpaired: Sequence[str] = (),
) -> dict[str, dict[str, dict[str, float | None]]]:
    """By loss and metric: value, interval, and its difference to the reference's.

    ``values`` are the metrics on all documents, ``resamples`` those of each resample. ``p`` is twice
    the share of resamples on the other side of no difference, ``p_holm`` the same after Holm's
    correction over the losses. A loss of ``unpaired``, like the reference itself, has None there, as
    has a metric that the reference does not have.
    """
    table: dict[str, dict[str, dict[str, float | None]]] = {}
    compared = [name for name in resamples if name != reference and name not in unpaired]
    for loss, drawn in resamples.items():
        table[loss] = {}
        for metric, bounds in intervals(drawn, values[loss], confidence).items():
            entry: dict[str, Any] = {"value": values[loss][metric], **bounds}
            if loss in compared and metric in resamples[reference]:
                against = values[reference][metric], resamples[reference][metric]
                entry |= _difference(entry["value"], drawn[metric], *against, confidence)
            table[loss][metric] = _UNTESTED | entry
    for metric in resamples[reference]:
        tested = [loss for loss in compared if metric in table[loss]]
        corrected = holm([table[loss][metric]["p"] or 0.0 for loss in tested])
        for loss, p in zip(tested, corrected, strict=True):
            table[loss][metric]["p_holm"] = p
    return table


_UNTESTED = dict.fromkeys(("difference", "difference_low", "difference_high", "p", "p_holm"))


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
    """The two-sided p-value of a paired bootstrap: twice the smaller tail's share.

    A difference of 0 counts for both tails, and the data themselves as one resample more, so that
    no p is 0.

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
