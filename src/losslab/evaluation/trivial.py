"""The best trivial prediction: what a model must beat before it has learned anything.

A trivial prediction is the same for every document: the k most frequent labels of training. No
label (k = 0) and every label are among them; on single-label data it is the most frequent class.

By macro-F1 the best one is always every label, which a network that predicts nearly everything may
beat by chance. So micro-F1, which thresholds are tuned by, must be beaten, too.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy import sparse

from losslab.evaluation.confusion import Matrix

ROUNDING = 1e-9


def beats_trivial(metrics: Mapping[str, float], trivial: Mapping[str, float]) -> bool:
    """Whether every metric of ``trivial`` is exceeded, by more than rounding.

    >>> trivial = {"macro_f1": 0.3, "micro_f1": 0.2}
    >>> beats_trivial({"macro_f1": 0.31, "micro_f1": 0.21}, trivial)
    True
    >>> beats_trivial({"macro_f1": 0.1 + 0.2, "micro_f1": 0.21}, trivial)
    False
    """
    return all(metrics[name] > value + ROUNDING for name, value in trivial.items())


def trivial_metrics(
    frequencies: Sequence[int], targets: Matrix, select_by: str, *, task: str = "multi"
) -> dict[str, float]:
    """What a model must beat: the best trivial ``select_by`` and micro-F1, each by its own best k."""
    names = dict.fromkeys([select_by, "micro_f1"])
    return {name: best_trivial_metric(frequencies, targets, name, task=task) for name in names}


def best_trivial_metric(
    frequencies: Sequence[int], targets: Matrix, metric: str, *, task: str = "multi"
) -> float:
    """The best value of ``metric`` that a trivial prediction reaches on ``targets``.

    Args:
        frequencies: training documents of each label; of equally frequent ones the first comes first.
        targets: documents x labels, of validation.
        metric: ``macro_f1``, ``micro_f1`` or ``subset_accuracy``.

    >>> best_trivial_metric([3, 1], np.array([[1, 0], [1, 0], [1, 1]]), "subset_accuracy")
    0.6666666666666666
    """
    order = np.argsort(-np.asarray(frequencies), kind="stable")
    ranked = sparse.csr_array(sparse.csr_array(targets)[:, order].astype(bool))
    ranked.eliminate_zeros()
    by_k = {
        "macro_f1": _macro_f1_by_k,
        "micro_f1": _micro_f1_by_k,
        "subset_accuracy": _subset_accuracy_by_k,
    }[metric](ranked)
    return float(by_k[1] if task == "single" else by_k.max())


def _macro_f1_by_k(truth: sparse.csr_array) -> np.ndarray:
    """Of k = 0, 1, ... most frequent labels; a label that is not predicted has an F1 of 0."""
    documents, labels = truth.shape
    positives = truth.sum(axis=0)
    f1 = 2 * positives / max(documents, 1) / (1 + positives / max(documents, 1))
    return np.asarray(np.concatenate([[0.0], np.cumsum(f1)]) / max(labels, 1))


def _micro_f1_by_k(truth: sparse.csr_array) -> np.ndarray:
    documents, labels = truth.shape
    positives = truth.sum(axis=0)
    tp = np.concatenate([[0], np.cumsum(positives)])
    return np.asarray(2 * tp / np.maximum(documents * np.arange(labels + 1) + tp[-1], 1))


def _subset_accuracy_by_k(truth: sparse.csr_array) -> np.ndarray:
    """A document has exactly the first k labels if it has k and none is of a later rank."""
    documents, labels = truth.shape
    sizes = np.diff(truth.indptr)
    last = np.zeros(documents, dtype=np.int64)
    np.maximum.at(last, np.repeat(np.arange(documents), sizes), truth.indices + 1)
    return np.asarray(np.bincount(sizes[last == sizes], minlength=labels + 1) / max(documents, 1))
