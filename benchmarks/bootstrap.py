"""Time of bootstrap intervals and paired comparisons of 31 losses at the size of Reuters.

3,019 documents x 90 labels, synthetic; ``python benchmarks/bootstrap.py``. The limit is 60 s with
1,000 resamples on two cores; the project's default of 10,000 is timed as well.
"""

import sys
from time import perf_counter

import numpy as np
from scipy.special import expit

from losslab.evaluation import (
    compare_with_reference,
    compute_metrics,
    inverse_propensities,
    resample_metrics,
)

DOCUMENTS, LABELS, LOSSES = 3_019, 90, 31
LIMIT = 60.0


def main() -> None:
    random = np.random.default_rng(0)
    truth = random.random((DOCUMENTS, LABELS)) < 0.4 / np.arange(1, LABELS + 1)
    scores = {
        f"loss {number}": expit(random.normal(size=truth.shape) + (2 + 0.02 * number) * truth)
        for number in range(LOSSES)
    }
    for resamples in (1_000, 10_000):
        seconds = measure(truth, scores, resamples)
        print(f"{LOSSES} losses x {resamples:6} resamples: {seconds:6.1f} s", flush=True)
        if resamples == 1_000 and seconds > LIMIT:
            sys.exit(f"more than the {LIMIT:.0f} s allowed")


def measure(truth: np.ndarray, scores: dict[str, np.ndarray], resamples: int) -> float:
    groups = {name: range(30 * third, 30 * third + 30) for third, name in enumerate("abc")}
    weights = inverse_propensities(truth.sum(axis=0), DOCUMENTS)
    start = perf_counter()
    values, drawn = {}, {}
    for name, given in scores.items():
        evaluated = truth, given, given > expit(1.5)
        options = {"groups": groups, "inverse_propensities": weights, "probability": True}
        values[name] = compute_metrics(*evaluated, **options)
        drawn[name] = resample_metrics(*evaluated, resamples=resamples, seed=0, **options)
    compare_with_reference(values, drawn, reference="loss 0", confidence=0.95)
    return perf_counter() - start


if __name__ == "__main__":
    main()
