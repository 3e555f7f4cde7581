"""Meta-analysis: losses over cross-validation folds (paired t-test, Holm), and over datasets."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from losslab.evaluation.bootstrap import holm
from losslab.evaluation.metrics import LOWER_IS_BETTER

Folds = Mapping[int, Mapping[str, float]]
"""Metrics by number of the fold."""
Comparison = Mapping[str, Mapping[str, float]]
"""Metrics by loss."""


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
    by_fold, reference_by_fold = (
        {fold: metrics[metric] for fold, metrics in results[name].items()}
        for name in (loss, reference)
    )
    values = np.array(list(by_fold.values()))
    shared = sorted(by_fold.keys() & reference_by_fold.keys())
    pairs = np.array([(by_fold[fold], reference_by_fold[fold]) for fold in shared]).reshape(-1, 2)
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
    """The p-value of a paired t-test; 1 where no pair differs and the test is undefined."""
    from scipy.stats import ttest_rel  # slow to import, and a command like this is rare

    same = np.array_equal(pairs[:, 0], pairs[:, 1])
    return 1.0 if same else float(ttest_rel(pairs[:, 0], pairs[:, 1]).pvalue)


def _correct(table: pd.DataFrame) -> pd.DataFrame:
    tested = table["p"].notna()
    table["p_holm"] = np.nan
    table.loc[tested, "p_holm"] = holm(table.loc[tested, "p"].tolist())
    return table


def combine_comparisons(
    comparisons: Mapping[str, Comparison], metrics: Iterable[str]
) -> pd.DataFrame:
    """A row per loss and metric: ``mean_rank``, ``times_best`` and ``comparisons`` over datasets.

    ``comparisons``: metrics by loss by comparison (a dataset, or one with a recipe). Ranks are among
    the losses of a comparison, 1 is best, equal values share the mean of their ranks; all that reach
    the best value are best, as in Table 1 of the ZLPR paper. Losses that are missing from a
    comparison are ranked over the others.

    >>> combine_comparisons({"a": {"bce": {"f1": 0.4}, "db": {"f1": 0.5}}}, ["f1"]).values.tolist()
    [['db', 'f1', 1.0, 1, 1], ['bce', 'f1', 2.0, 0, 1]]
    """
    rows = [
        {"comparison": name, "loss": loss, "metric": metric, "value": results[metric]}
        for metric in metrics
        for name, comparison in comparisons.items()
        for loss, results in comparison.items()
    ]
    table = pd.DataFrame(rows, columns=["comparison", "loss", "metric", "value"])
    sign = table["metric"].isin(LOWER_IS_BETTER).map({True: 1.0, False: -1.0})
    key = [table["comparison"], table["metric"]]
    table["rank"] = (sign * table["value"]).groupby(key, sort=False).rank()
    table["best"] = (sign * table["value"]).groupby(key, sort=False).rank(method="min") == 1
    ranked = table.groupby(["metric", "loss"], sort=False).agg(
        mean_rank=("rank", "mean"), times_best=("best", "sum"), comparisons=("rank", "count")
    )
    ordered = ranked.reset_index().sort_values(["metric", "mean_rank"], kind="stable")
    return ordered[["loss", "metric", "mean_rank", "times_best", "comparisons"]].reset_index(
        drop=True
    )
