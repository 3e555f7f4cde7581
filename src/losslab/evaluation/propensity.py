"""Propensity-scored metrics at k (Jain et al. 2016): a true label counts the more, the rarer it is.

A label with n_c of N training documents is seen with propensity p_c, ``1/p_c = 1 + C (n_c + B)^-A``,
``C = (ln N - 1)(B + 1)^A``. Each metric weighs a hit by 1/p_c and is divided by what the best order of
labels reaches: the ratio of two sums over documents, as in pyxclib. Documents without labels add
nothing to either.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from losslab.evaluation.ranking_metrics import (
    AT,
    PositiveRanks,
    cumulative_gain,
    discounts,
    expected_gain,
)

BEST = "/best"
"""Ends the name of what a term reaches at best."""


def inverse_propensities(
    frequencies: Sequence[int] | np.ndarray, documents: int, *, a: float = 0.55, b: float = 1.5
) -> np.ndarray:
    """``1/p_c`` of every label, of its training documents and how many there are.

    ``a`` and ``b`` are the field's for most corpora (0.5 and 0.4 for Wikipedia, 0.6 and 2.6 for
    Amazon). No propensity is above 1, though C is negative below three documents.

    >>> inverse_propensities([1, 99], 100).round(2).tolist()
    [4.61, 1.47]
    """
    c = max(np.log(max(documents, 1)) - 1, 0.0) * (b + 1) ** a
    return np.asarray(1 + c * (np.asarray(frequencies, dtype=float) + b) ** -a)


def propensity_terms(
    ranks: PositiveRanks, weights: np.ndarray, truth: np.ndarray
) -> dict[str, np.ndarray]:
    """PSP, PSnDCG and PSR at k of each document of a block, and what each reaches at best.

    Args:
        ranks: of the block's positives.
        weights: ``1/p_c`` of each label.
        truth: the block, documents x labels.
    """
    documents, labels = truth.shape
    positives = truth.sum(axis=1)
    weight, best = weights[ranks.label], _best_order(ranks, weights)

    def total(values: np.ndarray) -> np.ndarray:
        return np.bincount(ranks.document, weights=values, minlength=documents)

    terms = {}
    for k in AT:
        hits, ideal = np.ones(k), np.where(positives > 0, _ideal(k, labels)[positives], 1.0)
        for gains, divisors in (
            (hits, {"psp": k, "psr": np.maximum(positives, 1)}),
            (discounts(k), {"psndcg": ideal}),
        ):
            reached = total(weight * expected_gain(gains, ranks, labels))
            reachable = total(weight * expected_gain(gains, best, labels))
            for name, divisor in divisors.items():
                terms[f"{name}_at_{k}"] = reached / divisor
                terms[f"{name}_at_{k}{BEST}"] = reachable / divisor
    return terms


def _ideal(k: int, labels: int) -> np.ndarray:
    """nDCG's own divisor by number of positives: the gain of the first ranks, weights left out."""
    return cumulative_gain(discounts(k), labels)


def _best_order(ranks: PositiveRanks, weights: np.ndarray) -> PositiveRanks:
    """The ranks of the same positives where a document's rarest come first."""
    order = np.lexsort((-weights[ranks.label], ranks.document))
    sizes = np.bincount(ranks.document)
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    above = np.empty(len(order), dtype=int)
    above[order] = np.arange(len(order)) - starts
    return PositiveRanks(ranks.document, ranks.label, above, above + 1, above + 1)


def average_terms(totals: Mapping[str, Any], documents: int) -> dict[str, Any]:
    """Totals over documents to means; what has a best is divided by that instead, 0/0 being 0.

    >>> means = average_terms({"psp_at_1": 3.0, "psp_at_1/best": 4.0, "ranking_loss": 5.0}, 10)
    >>> {name: float(mean) for name, mean in means.items()}
    {'psp_at_1': 0.75, 'ranking_loss': 0.5}
    """
    return {
        name: _quotient(total, totals.get(f"{name}{BEST}", documents))
        for name, total in totals.items()
        if not name.endswith(BEST)
    }


def _quotient(total: Any, divisor: Any) -> Any:
    return total / np.where(np.asarray(divisor) > 0, divisor, 1)
