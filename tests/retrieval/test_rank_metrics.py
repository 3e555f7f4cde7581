"""Recall@k and MRR, their bootstrap, and the comparison of methods."""

import numpy as np
import pytest
from sklearn.metrics import label_ranking_average_precision_score, top_k_accuracy_score

from losslab.errors import IncomparableError
from losslab.evaluation.bootstrap import draw_documents
from losslab.retrieval import (
    compare_methods,
    evaluate_ranks,
    positive_ranks,
    rank_metrics,
    resample_ranks,
)

BOOTSTRAP = {"resamples": 300, "seed": 0, "confidence": 0.95}


def test_metrics_agree_with_scikit_learn():
    random = np.random.default_rng(0)
    questions, candidates = random.normal(size=(60, 4)), random.normal(size=(25, 4))
    positives = random.integers(25, size=60)
    scores = questions @ candidates.T
    metrics = rank_metrics(positive_ranks(questions, candidates, positives), [1, 5, 10])
    for k in (1, 5, 10):
        expected = top_k_accuracy_score(positives, scores, k=k, labels=range(25))
        assert metrics[f"recall_at_{k}"] == pytest.approx(expected)
    targets = np.eye(25)[positives]  # with one positive, average precision is the reciprocal rank
    assert metrics["mrr"] == pytest.approx(label_ranking_average_precision_score(targets, scores))


def test_resamples_are_the_metrics_of_drawn_questions():
    ranks = np.random.default_rng(0).integers(1, 30, size=50)
    drawn = resample_ranks(ranks, [1, 10], resamples=7, seed=3)
    times = np.concatenate([*draw_documents(50, 1, resamples=7, seed=3)], axis=1).astype(int)
    for number in range(7):
        copied = rank_metrics(np.repeat(ranks, times[:, number]), [1, 10])
        assert {name: values[number] for name, values in drawn.items()} == pytest.approx(copied)


def evaluated(**ranks):
    results = {name: evaluate_ranks(seeds, [1, 10], **BOOTSTRAP) for name, seeds in ranks.items()}
    return {k: v[0] for k, v in results.items()}, {k: v[1] for k, v in results.items()}


def test_means_are_over_seeds_and_intervals_hold_them():
    seeds = {"1": np.array([1, 2, 11, 4]), "2": np.array([1, 1, 11, 40])}
    metrics, _ = evaluate_ranks(seeds, [1, 10], **BOOTSTRAP)
    assert metrics["mean"] == pytest.approx(
        {"recall_at_1": 0.375, "recall_at_10": 0.625, "mrr": np.mean([1.8409 / 4, 2.1159 / 4])},
        abs=1e-4,
    )
    assert metrics["seeds"]["2"]["recall_at_1"] == 0.5
    for name, bounds in metrics["intervals"].items():
        assert bounds["low"] <= metrics["mean"][name] <= bounds["high"]


def test_better_ranks_are_significant_and_alike_ranks_are_not():
    random = np.random.default_rng(1)
    ranks = random.integers(2, 30, size=400)
    table = compare_methods(
        *evaluated(ce={"1": ranks}, kwls={"1": ranks - 1}, ls_tfidf={"1": ranks}),
        reference="ce",
        confidence=0.95,
    ).set_index(["method", "metric"])
    assert table.loc[("kwls", "mrr"), "p_holm"] < 0.02
    assert table.loc[("kwls", "mrr"), "difference_low"] > 0
    expected = np.mean(1 / (ranks - 1)) - np.mean(1 / ranks)
    assert table.loc[("kwls", "mrr"), "difference"] == pytest.approx(expected)
    assert table.loc[("ls_tfidf", "mrr"), "p"] == 1
    assert table.loc["ce"][["difference", "p"]].isna().all(axis=None)


def test_missing_reference_is_named():
    with pytest.raises(IncomparableError, match=r"the reference ce has no result.*one of kwls"):
        compare_methods(*evaluated(kwls={"1": np.ones(3)}), reference="ce", confidence=0.95)
