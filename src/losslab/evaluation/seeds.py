"""Figures of several seeds in one."""

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev


def summarise_seeds(results: Sequence[Mapping[str, float]]) -> dict[str, dict[str, float | None]]:
    """Mean and sample standard deviation of every figure; the latter is None for one seed.

    >>> summarise_seeds([{"f1": 0.4}, {"f1": 0.6}])["mean"]
    {'f1': 0.5}
    """
    columns = {key: [float(result[key]) for result in results] for key in results[0]}
    return {
        "mean": {key: fmean(values) for key, values in columns.items()},
        "std": {key: stdev(values) if len(values) > 1 else None for key, values in columns.items()},
    }
