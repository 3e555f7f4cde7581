"""Time and peak memory of all metrics at the size of PubMed.

10,000 documents x 18,211 labels x 12.3 labels per document, scores in float32, every kind of input:
``python benchmarks/metrics_memory.py``. The limit is 2 GB beyond the inputs.
"""

import sys
import tracemalloc
from time import perf_counter

import numpy as np
from scipy import sparse

from losslab.evaluation import compute_metrics, inverse_propensities

DOCUMENTS, LABELS, PER_DOCUMENT = 10_000, 18_211, 12.3
LIMIT = 2.0
INPUTS = ("dense", "sparse")


def main() -> None:
    for kind in INPUTS:
        seconds, beyond = measure(kind)
        print(f"{kind:8} {seconds:6.1f} s   {beyond:5.2f} GB beyond the inputs", flush=True)
        if beyond > LIMIT:
            sys.exit(f"more than the {LIMIT} GB allowed")


def measure(kind: str) -> tuple[float, float]:
    random = np.random.default_rng(0)
    rows = np.repeat(np.arange(DOCUMENTS), random.poisson(PER_DOCUMENT, DOCUMENTS))
    columns = (LABELS * random.random(len(rows)) ** 4).astype(int)
    shape = DOCUMENTS, LABELS
    targets = sparse.csr_array((np.ones(len(rows), np.int8), (rows, columns)), shape)
    targets.data[:] = 1
    scores = 0.6 * random.random(shape, dtype=np.float32)
    scores[rows, columns] += 0.3
    predictions = sparse.csr_array(scores > 0.6)
    weights = inverse_propensities(targets.sum(axis=0), DOCUMENTS)
    groups = {"tail": range(LABELS // 2, LABELS)}
    if kind == "dense":
        targets, predictions = targets.toarray(), predictions.toarray()
    tracemalloc.start()
    start = perf_counter()
    compute_metrics(
        targets,
        scores,
        predictions,
        groups=groups,
        inverse_propensities=weights,
        probability=True,
    )
    seconds, (_, peak) = perf_counter() - start, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return seconds, peak / 2**30


if __name__ == "__main__":
    main()
