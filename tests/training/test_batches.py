"""Which documents share a batch."""

import numpy as np
import pytest
from scipy import sparse

from losslab.supervision import SoftLabels
from losslab.training.batches import SplitDataset, shuffled_batches

LENGTHS = np.random.default_rng(0).lognormal(4, 0.8, 5000).astype(int) + 1


def padding(batches: list[np.ndarray]) -> float:
    """Padding tokens by real tokens."""
    taken = sum(len(indices) * LENGTHS[indices].max() for indices in batches)
    return taken / LENGTHS.sum() - 1


@pytest.fixture
def epochs() -> list[list[np.ndarray]]:
    random = np.random.default_rng(1)
    return [shuffled_batches(LENGTHS, 32, random=random) for _ in range(2)]


def test_documents_of_similar_length_share_a_batch(epochs):
    anyhow = np.array_split(np.random.default_rng(2).permutation(len(LENGTHS)), len(epochs[0]))
    assert padding(epochs[0]) < padding(anyhow) / 8


def test_every_document_is_in_one_batch_of_at_least_the_size(epochs):
    for batches in epochs:
        assert sorted(np.concatenate(batches)) == list(range(len(LENGTHS)))
        assert {len(indices) for indices in batches} <= {32, 33}


def test_epochs_differ_in_batches_and_order(epochs):
    first, second = ({frozenset(indices.tolist()) for indices in batches} for batches in epochs)
    assert len(first & second) < len(first) / 10
    means = [np.array([LENGTHS[indices].mean() for indices in batches]) for batches in epochs]
    for mean in means:  # long and short batches take turns
        assert abs(np.corrcoef(mean[:-1], mean[1:])[0, 1]) < 0.3


@pytest.mark.parametrize("limit", [0, 2**27])
def test_soft_targets_of_a_batch_are_those_of_its_documents(monkeypatch, limit):
    monkeypatch.setattr("losslab.training.batches.MAX_DENSE_BYTES", limit)
    random = np.random.default_rng(3)
    words = sparse.random_array((3000, 40), density=0.1, rng=random, format="csr")
    soft = SoftLabels(words, sparse.random_array((40, 6), density=0.3, rng=random, format="csr"))
    rows = random.permutation(3000)[:2500]
    split = SplitDataset(
        {"embeddings": np.zeros((3000, 1), np.float32)},
        np.zeros((3000, 6)),
        rows,
        context={"soft_targets": soft},
    )
    indices = random.permutation(2500)[:32]
    expected = soft(rows[indices]).astype(np.float32)
    batch = split.batch(indices)["context"]["soft_targets"]
    np.testing.assert_array_equal(batch.numpy(), expected)
