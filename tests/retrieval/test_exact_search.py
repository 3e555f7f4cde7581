"""Ranks by exact search and by BM25, against a full sort and the formula."""

from math import log

import numpy as np
import pytest

from losslab.retrieval import bm25_ranks, positive_ranks


@pytest.fixture
def vectors():
    random = np.random.default_rng(0)
    return random.normal(size=(40, 8)), random.normal(size=(70, 8)), random.integers(70, size=40)


def test_ranks_are_those_of_a_full_sort(vectors):
    questions, candidates, positives = vectors
    order = np.argsort(-(questions @ candidates.T), axis=1)
    expected = [1 + row.tolist().index(own) for row, own in zip(order, positives, strict=True)]
    assert positive_ranks(questions, candidates, positives).tolist() == expected


@pytest.mark.parametrize("block_scores", [1, 70, 211, 10**6])
def test_ranks_do_not_depend_on_the_size_of_blocks(vectors, block_scores):
    expected = positive_ranks(*vectors)
    assert (positive_ranks(*vectors, block_scores=block_scores) == expected).all()


def test_ties_count_against_the_method():
    candidates = np.array([[1.0], [1.0], [0.5]])
    assert positive_ranks(np.ones((3, 1)), candidates, np.arange(3)).tolist() == [2, 2, 3]
    assert positive_ranks(np.zeros((3, 1)), candidates, np.arange(3)).tolist() == [3, 3, 3]


def test_positive_without_a_score_comes_last_and_others_without_one_before():
    candidates = np.array([[1.0], [np.nan], [0.5]])
    assert positive_ranks(np.ones((3, 1)), candidates, np.arange(3)).tolist() == [2, 3, 3]


def test_bm25_ranks_are_those_of_the_formula():
    texts = ["a cat sat here", "the dog ran", "a dog ate the the cake", "rain", "dog dog dog"]
    candidates = [text.split() for text in texts]
    questions = [["dog", "ate"], ["the", "dog"], ["cat"]]
    positives = np.array([2, 1, 0])
    k1, b = 1.5, 0.75
    mean = np.mean([len(words) for words in candidates])

    def score(query, words):
        total = 0.0
        for word in query:
            seen, f = sum(word in other for other in candidates), words.count(word)
            idf = log(1 + (len(texts) - seen + 0.5) / (seen + 0.5))
            total += idf * f / (f + k1 * (1 - b + b * len(words) / mean))
        return total

    scores = [[score(query, words) for words in candidates] for query in questions]
    expected = [sum(s >= row[own] for s in row) for row, own in zip(scores, positives, strict=True)]
    assert bm25_ranks(questions, candidates, positives, k1=k1, b=b).tolist() == expected


def test_question_without_a_known_word_comes_last():
    candidates = [["a"], ["b"], []]
    ranks = bm25_ranks([["z"], []], candidates, np.array([0, 1]), k1=1.5, b=0.75)
    assert ranks.tolist() == [3, 3]
