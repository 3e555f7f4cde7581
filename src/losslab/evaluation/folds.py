"""Several trainings on other parts of the same documents: what a loss owes to the part it saw."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from losslab.evaluation.metrics import LOWER_IS_BETTER
from losslab.evaluation.uncertainty import holm

Folds = Mapping[int, Mapping[str, float]]
"""Metrics by number of the fold."""


def compare_folds(
    results: Mapping[str, Folds], metrics: Iterable[str], *, reference: str, folds: int
) -> pd.DataFrame:
    """A row per metric and loss, best first: ``mean std folds difference p p_holm``.

    ``difference`` is to ``reference`` over the folds both have; ``p`` that of a paired t-test over
    them, ``p_holm`` after Holm's correction over the losses. Both are missing where one of the
    ``folds`` is, and for the reference itself.

    >>> results = {"bce": {1: {"f1": 0.5}, 2: {"f1": 0.4}}, "db": {1: {"f1": 0.6}, 2: {"f1": 0.6}}}
    >>> compare_folds(results, ["f1"], reference="bce", folds=2).round(3).values[0].tolist()
    ['f1', 'db', 0.6, 0.0, 2, 0.15, 0.205, 0.205]
    """
    tables = []
    for metric in metrics:
        rows = [_row(results, loss, metric, reference, folds) for loss in results]
        table = _correct(pd.DataFrame(rows))
        lower = metric in LOWER_IS_BETTER
        tables.append(table.sort_values("mean", ascending=lower, kind="stable"))
    return pd.concat(tables, ignore_index=True)


def _row(
    results: Mapping[str, Folds], loss: str, metric: str, reference: str, folds: int
) -> dict[str, object]:
    own, other = ({k: v[metric] for k, v in results[name].items()} for name in (loss, reference))
    values, shared = np.array(list(own.values())), sorted(own.keys() & other.keys())
    pairs = np.array([(own[fold], other[fold]) for fold in shared]).reshape(-1, 2)
    compared = loss != reference and len(shared) > 0
    return {
        "metric": metric,
        "loss": loss,
        "mean": values.mean(),
        "std": values.std(ddof=1) if len(values) > 1 else np.nan,
        "folds": len(values),
        "difference": (pairs[:, 0] - pairs[:, 1]).mean() if compared else np.nan,
        "p": _paired(pairs) if compared and len(shared) == folds else np.nan,
    }


def _paired(pairs: np.ndarray) -> float:
    """The p of a paired t-test; 1 where no pair differs, which the test cannot judge."""
    from scipy.stats import ttest_rel  # slow to import, and a command like this is rare

    same = np.array_equal(pairs[:, 0], pairs[:, 1])
    return 1.0 if same else float(ttest_rel(pairs[:, 0], pairs[:, 1]).pvalue)


def _correct(table: pd.DataFrame) -> pd.DataFrame:
    judged = table["p"].notna()
    table["p_holm"] = np.nan
    table.loc[judged, "p_holm"] = holm(table.loc[judged, "p"].tolist())
    return table
