"""Soft targets over the candidates of a batch, against the equations word by word."""

import kwls_loop
import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax

from losslab.retrieval import (
    FactoredTargets,
    SmoothedTargets,
    keyword_factors,
    tfidf_factors,
)
from losslab.supervision import count_words

CANDIDATES = ["a cat sat here", "the dog ran", "a dog ate the the cake", "rain"]
QUESTIONS = ["who sat here here", "what did the dog eat", "which dog ran", "what ate the dog"]
POSITIVES = np.array([0, 2, 1, 2])


@pytest.fixture
def counts():
    matrix, _ = count_words([*CANDIDATES, *QUESTIONS])
    return matrix[len(CANDIDATES) :], matrix[: len(CANDIDATES)]


def slow_relevance(by_label, by_document):
    """Eq. 7 with a label per candidate, whose texts are itself and its questions."""
    texts = [text.split() for text in [*CANDIDATES, *QUESTIONS]]
    carried = [*range(len(CANDIDATES)), *POSITIVES]
    rows = [[int(label == own) for label in range(len(CANDIDATES))] for own in carried]
    questions = texts[len(CANDIDATES) :]
    return np.array(kwls_loop.ilr(questions, by_label(texts, rows), by_document(questions)))


def test_keyword_targets_follow_the_equations(counts):
    factors = keyword_factors(*counts, POSITIVES, k1=2.0, b=0.75, k2=2.0, dtype=np.float64)
    expected = slow_relevance(
        lambda texts, rows: kwls_loop.wlr(texts, rows, k1=2.0, b=0.75),
        lambda questions: kwls_loop.wir(questions, k2=2.0),
    )
    questions, candidates = np.array([3, 1]), np.array([2, 0, 3])
    found = FactoredTargets(*factors)(questions, candidates)
    np.testing.assert_allclose(found, softmax(expected[questions][:, candidates], axis=1))


@pytest.mark.parametrize("tf", ["log", "raw"])
def test_tfidf_targets_follow_the_equations(counts, tf):
    factors = tfidf_factors(*counts, POSITIVES, tf=tf, dtype=np.float64)
    weight = np.log1p if tf == "log" else float
    expected = slow_relevance(
        lambda texts, rows: kwls_loop.tfidf_wlr(texts, rows, tf=weight),
        lambda questions: kwls_loop.tfidf_wir(questions, tf=weight),
    )
    rows = np.arange(4)
    np.testing.assert_allclose(FactoredTargets(*factors).relevance(rows, rows), expected)


def test_targets_of_a_batch_are_those_of_all_candidates_normalized_over_the_batch(counts):
    soft = FactoredTargets(*keyword_factors(*counts, POSITIVES, k1=2.0, b=0.75, k2=2.0))
    every = soft(np.arange(4), np.arange(4))
    batch = soft(np.arange(4), np.array([1, 2]))
    np.testing.assert_allclose(
        batch, every[:, 1:3] / every[:, 1:3].sum(1, keepdims=True), rtol=1e-5
    )
    np.testing.assert_allclose(batch.sum(axis=1), 1, rtol=1e-6)


def test_dense_factors_are_the_softmax_of_a_teachers_logits():
    random = np.random.default_rng(0)
    questions, candidates = random.normal(size=(5, 3)), random.normal(size=(6, 3))
    rows, columns = np.array([4, 0]), np.array([5, 2, 3])
    found = FactoredTargets(questions, candidates)(rows, columns)
    np.testing.assert_allclose(found, softmax(questions[rows] @ candidates[columns].T, axis=1))


def test_classic_targets_spread_eps_over_the_candidates_of_the_batch():
    found = SmoothedTargets(POSITIVES, eps=0.1)(np.array([1, 0]), np.array([0, 1, 2, 3]))
    expected = 0.9 * np.array([[0, 0, 1, 0], [1, 0, 0, 0]]) + 0.025
    np.testing.assert_allclose(found, expected)


def test_factors_stay_sparse_and_small(counts):
    for factor in keyword_factors(*counts, POSITIVES, k1=2.0, b=0.75, k2=2.0):
        assert sparse.issparse(factor)
        assert factor.dtype == np.float32
