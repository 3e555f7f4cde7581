"""The best trivial prediction against a loop over all of them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import accuracy_score, f1_score

from losslab.evaluation import (
    beats_trivial,
    best_trivial_metric,
    judge_epoch,
    trivial_metrics,
)

ORACLES = {
    "macro_f1": lambda truth, predicted: f1_score(
        truth, predicted, average="macro", zero_division=0
    ),
    "micro_f1": lambda truth, predicted: f1_score(
        truth, predicted, average="micro", zero_division=0
    ),
    "subset_accuracy": accuracy_score,
}


def draw(seed: int, documents: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """Training frequencies, with ties, and validation targets of a long tail; some are empty."""
    random = np.random.default_rng(seed)
    probabilities = 0.8 / np.arange(1, 7) ** random.uniform(0, 2)
    truth = random.random((documents, 6)) < random.permutation(probabilities)
    return (20 * probabilities).astype(int), truth


@pytest.mark.parametrize("metric", ORACLES)
@pytest.mark.parametrize("seed", range(10))
def test_it_is_the_best_of_all_numbers_of_frequent_labels(seed, metric):
    frequencies, truth = draw(seed)
    order = sorted(range(6), key=lambda label: (-frequencies[label], label))
    reached = []
    for k in range(7):
        predicted = np.zeros_like(truth)
        predicted[:, order[:k]] = True
        reached.append(ORACLES[metric](truth, predicted))
    assert best_trivial_metric(frequencies, truth, metric) == pytest.approx(max(reached))
    assert best_trivial_metric(frequencies, sparse.csr_array(truth), metric) == pytest.approx(
        max(reached)
    )


@pytest.mark.parametrize("metric", ORACLES)
def test_of_a_single_label_task_it_is_the_most_frequent_class(metric):
    classes = np.random.default_rng(0).integers(4, size=50)
    truth, predicted = np.eye(4, dtype=bool)[classes], np.eye(4, dtype=bool)[np.full(50, 2)]
    expected = ORACLES[metric](truth, predicted)
    reached = best_trivial_metric([3, 1, 9, 2], truth, metric, task="single")
    assert reached == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_a_network_that_predicts_every_label_does_not_beat_it(seed):
    frequencies, truth = draw(seed)
    everything = judge_epoch(truth, np.ones(truth.shape), grid=np.array([0.5]))
    for metric in ORACLES:
        assert not beats_trivial(everything, trivial_metrics(frequencies, truth, metric))


def test_micro_f1_is_always_among_what_must_be_beaten():
    frequencies, truth = draw(0)
    for metric in ORACLES:
        expected = {
            name: best_trivial_metric(frequencies, truth, name) for name in {metric, "micro_f1"}
        }
        assert trivial_metrics(frequencies, truth, metric) == expected


def test_no_label_is_the_best_of_documents_without_any():
    assert best_trivial_metric([2, 1], np.zeros((3, 2)), "subset_accuracy") == 1.0
    assert best_trivial_metric([2, 1], np.zeros((3, 2)), "micro_f1") == 0.0


@pytest.mark.parametrize("metric", ORACLES)
def test_without_documents_it_is_zero(metric):
    assert best_trivial_metric([2, 1], np.zeros((0, 2)), metric) == 0.0
