"""Time and peak memory of preparing a corpus of PubMed's size, step by step.

Simulates 225,000 documents x 18,211 labels x 12.3 labels per document, Zipf-like, as lists of names
as a reader would give them, with texts of 150 words, and runs every step from rare labels to the
saved co-occurrence: ``python benchmarks/label_statistics.py``. Limits: 5 minutes, 4 GB.
"""

import resource
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.data import SPLITS, assign_splits, drop_rare_labels, split_rows
from losslab.datasets import JSONDataset, SparseMatrixDataset
from losslab.datasets.validators import check_label_matrix, check_splits
from losslab.parameters import FrequencyGroupSettings
from losslab.pipelines.data.nodes import describe_corpus, encode_label_sets
from losslab.pipelines.supervision.nodes import compute_label_statistics, count_cooccurrence

DOCUMENTS, LABELS, PER_DOCUMENT = 225_000, 18_211, 12.3
GROUPS = FrequencyGroupSettings(head_min=50, tail_max=15)


def simulate(documents: int, labels: int, per_document: float) -> pd.DataFrame:
    """Documents with labels drawn so that the label of rank k has frequency ~ 1 / (k + 2)."""
    random = np.random.default_rng(0)
    weights = 1 / (np.arange(labels) + 3)
    frequencies = np.maximum(weights / weights.sum() * documents * per_document, 1).astype(int)
    carriers = [random.choice(documents, n, replace=False, shuffle=False) for n in frequencies]
    columns = np.repeat(np.arange(labels), frequencies)
    rows = np.concatenate(carriers)
    matrix = sparse.csr_array((np.ones(len(rows), np.int8), (rows, columns)), (documents, labels))
    label_sets = [
        [f"Label {number}" for number in part]
        for part in np.split(matrix.indices, matrix.indptr[1:-1])
    ]
    texts = [f"Abstract {number} {'about something ' * 75}" for number in range(documents)]
    identifiers = [str(number) for number in range(documents)]
    return pd.DataFrame({"id": identifiers, "text": texts, "labels": label_sets, "split": None})


def timed(step: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    start = perf_counter()
    result = function(*arguments, **options)
    print(f"{step:28} {perf_counter() - start:7.1f} s   peak {peak():5.2f} GB", flush=True)
    return result


def peak() -> float:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def prepare(parsed: pd.DataFrame, folder: Path) -> None:
    label_sets, _ = timed("drop rare labels", drop_rare_labels, parsed["labels"], 5)
    parsed = parsed.assign(labels=label_sets)
    documents = timed("split, stratified", assign_splits, parsed, validation=0.1, test=0.1, seed=0)
    timed("split, by hash", assign_splits, parsed, validation=0.1, test=0.1, by="hash", seed=0)
    timed("check documents", check_splits, documents)
    names, targets = timed("label space, targets", encode_label_sets, documents, "multi")
    timed("check targets", check_label_matrix, targets)
    statistics, _ = timed(
        "statistics, label table", compute_label_statistics, targets, names, documents, GROUPS
    )
    notes = {"notes": {}, "rejected": {}, "excluded": {}}
    done = {"dropped_labels": {}, "documents_undersampled": 0}
    timed("corpus table, summary", describe_corpus, documents, targets, notes, done, [1])
    pairs = timed("co-occurrence", count_cooccurrence, targets, documents)
    for name, matrix in {"targets": targets, "co-occurrence": pairs}.items():
        file = SparseMatrixDataset(filepath=str(folder / f"{name}.npz"))
        timed(f"save {name}", file.save, matrix)
        timed(f"load {name}", file.load)
    timed("save statistics", JSONDataset(filepath=str(folder / "s.json")).save, statistics)
    sizes = ", ".join(f"{name} {len(split_rows(documents, name)):,}" for name in SPLITS)
    print(f"{sizes}; {targets.nnz:,} labels carried, {pairs.nnz:,} co-occurring pairs")


def main() -> None:
    parsed = timed("simulate (not counted)", simulate, DOCUMENTS, LABELS, PER_DOCUMENT)
    start = perf_counter()
    with TemporaryDirectory() as folder:
        prepare(parsed, Path(folder))
    print(f"{perf_counter() - start:.1f} s of 300, {peak():.2f} GB of 4")


if __name__ == "__main__":
    main()
