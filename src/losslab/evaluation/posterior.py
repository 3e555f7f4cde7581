"""The posterior of what a loss samples for each label, in one tidy table."""

from collections.abc import Mapping, Sequence
from math import exp
from statistics import NormalDist

import numpy as np
import pandas as pd


def tabulate_posterior(
    draws: Mapping[str, np.ndarray],
    priors: Mapping[str, str],
    *,
    labels: Sequence[str],
    frequencies: Sequence[int],
    confidence: float,
) -> pd.DataFrame:
    """A row per parameter and label: median and interval, and those of the prior.

    Args:
        draws: by parameter, draws x labels.
        priors: by parameter, ``normal`` or ``lognormal``, of mean 0 and variance 1.
        labels, frequencies: names, and training documents of each.

    Columns: ``parameter label train median low high draws prior prior_low prior_high``.
    """
    tail = (1 - confidence) / 2
    parts = []
    for parameter, values in draws.items():
        low, median, high = np.quantile(values, [tail, 0.5, 1 - tail], axis=0)
        columns = {"label": list(labels), "train": list(frequencies)}
        columns |= {"median": median, "low": low, "high": high}
        prior = priors[parameter]
        prior_low, prior_high = (_quantile(prior, share) for share in (tail, 1 - tail))
        facts = {"prior": prior, "prior_low": prior_low, "prior_high": prior_high}
        parts.append(
            pd.DataFrame({"parameter": parameter, **columns, "draws": len(values), **facts})
        )
    return pd.concat(parts, ignore_index=True)


def _quantile(prior: str, share: float) -> float:
    """
    >>> _quantile("lognormal", 0.5), _quantile("normal", 0.5)
    (1.0, 0.0)
    """
    value = NormalDist().inv_cdf(share)
    return exp(value) if prior == "lognormal" else value
