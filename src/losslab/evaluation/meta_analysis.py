"""Meta-analysis: mean rank and times best of losses over datasets."""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from losslab.evaluation.metrics import LOWER_IS_BETTER

Comparison = Mapping[str, Mapping[str, float]]
"""Metrics by loss."""


def combine_comparisons(
    comparisons: Mapping[str, Comparison], metrics: Iterable[str]
) -> pd.DataFrame:
    """A row per loss and metric: ``mean_rank``, ``times_best`` and ``comparisons`` over datasets.

    ``comparisons``: metrics by loss by comparison (a dataset, or one with a recipe). Ranks are among
    the losses of a comparison, 1 is best, equal values share the mean of their ranks; all that reach
    the best value are best, as in Table 1 of the ZLPR paper. Losses that are missing from a
    comparison, or do not have a metric there, are ranked over the others.

    >>> combine_comparisons({"a": {"bce": {"f1": 0.4}, "db": {"f1": 0.5}}}, ["f1"]).values.tolist()
    [['db', 'f1', 1.0, 1, 1], ['bce', 'f1', 2.0, 0, 1]]
    """
    rows = [
        {"comparison": name, "loss": loss, "metric": metric, "value": results.get(metric, np.nan)}
        for metric in metrics
        for name, comparison in comparisons.items()
        for loss, results in comparison.items()
    ]
    table = pd.DataFrame(rows, columns=["comparison", "loss", "metric", "value"])
    table = table.dropna(subset="value", ignore_index=True)
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
