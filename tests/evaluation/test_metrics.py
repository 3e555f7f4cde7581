import json
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.metrics import (
    accuracy_score,
    average_precision_score,
    brier_score_loss,
    coverage_error,
    f1_score,
    hamming_loss,
    label_ranking_average_precision_score,
    label_ranking_loss,
    log_loss,
    ndcg_score,
    precision_score,
    recall_score,
)

from losslab.evaluation import compute_metrics, inverse_propensities
from losslab.reporting.definitions import COLUMNS, METRICS, lower_is_better
from losslab.supervision import frequency_groups

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "metrics.json").read_text())


@st.composite
def judgements(draw):
    """Targets, scores (with ties) and predictions of the same shape."""
    shape = draw(st.tuples(st.integers(1, 8), st.integers(2, 6)))
    flags = arrays(np.int8, shape, elements=st.integers(0, 1))
    scores = arrays(np.float64, shape, elements=st.integers(-4, 4).map(float))
    return draw(flags), draw(scores), draw(flags)


def predict(rows=40, labels=9, seed=0):
    random = np.random.default_rng(seed)
    targets = (random.random((rows, labels)) < 0.3).astype(int)
    scores = random.normal(size=(rows, labels)) + targets
    return targets, scores, (scores > 0.6).astype(int)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(judgement=judgements())
def test_metrics_agree_with_scikit_learn(judgement):
    targets, scores, guesses = judgement

    def f1(average, undefined):
        return f1_score(targets, guesses, average=average, zero_division=undefined)

    without_labels = (targets.sum(axis=1) == 0).mean()
    expected = {
        "micro_f1": f1("micro", 0),
        "macro_f1": f1("macro", 0),
        "macro_f1_absent_as_one": f1("macro", 1),
        "weighted_f1": f1("weighted", 0),
        "example_f1": f1("samples", 1),
        "subset_accuracy": accuracy_score(targets, guesses),
        "hamming_loss": hamming_loss(targets, guesses),
        "ranking_loss": label_ranking_loss(targets, scores),
        "coverage_error": coverage_error(targets, scores),
        # scikit-learn counts a row without labels as 1, we count it as 0.
        "average_precision": label_ranking_average_precision_score(targets, scores)
        - without_labels,
    }
    for average in ("micro", "macro", "weighted", "samples"):
        name = average.replace("samples", "example")
        how = {"average": average, "zero_division": 0}
        expected[f"{name}_precision"] = precision_score(targets, guesses, **how)
        expected[f"{name}_recall"] = recall_score(targets, guesses, **how)
    expected["example_f1_empty_as_zero"] = f1("samples", 0)
    expected["hamming_accuracy"] = (targets == guesses).mean()
    metrics = compute_metrics(targets, scores, guesses)
    assert {name: metrics[name] for name in expected} == pytest.approx(expected, abs=1e-12)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(judgement=judgements())
def test_metrics_at_k_agree_with_scikit_learn_and_with_every_order_of_equal_scores(judgement):
    targets, scores, guesses = judgement
    metrics = compute_metrics(targets, scores, guesses)
    for k in (1, 3, 5):
        assert metrics[f"ndcg_at_{k}"] == pytest.approx(ndcg_score(targets, scores, k=k))
        hits = [expected_hits(*row, k) for row in zip(targets, scores, strict=True)]
        carried = np.maximum(targets.sum(axis=1), 1)
        assert metrics[f"precision_at_{k}"] == pytest.approx(np.mean(hits) / k)
        assert metrics[f"recall_at_{k}"] == pytest.approx(np.mean(hits / carried))
        reachable = np.minimum(carried, k)
        assert metrics[f"r_precision_at_{k}"] == pytest.approx(np.mean(hits / reachable))
    assert metrics["one_error"] == pytest.approx(1 - metrics["precision_at_1"])


def expected_hits(targets, scores, k):
    """Positives among the first k, the mean over all ways to order equal scores."""
    sums = []
    for order in permutations(range(len(scores))):
        ranked = scores[list(order)]
        if (np.diff(ranked) <= 0).all():
            sums.append(targets[list(order)][:k].sum())
    return np.mean(sums)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(judgement=judgements())
def test_macro_average_precision_agrees_with_scikit_learn(judgement):
    targets, scores, guesses = judgement
    groups = {"odd": list(range(1, targets.shape[1], 2)), "none": []}
    metrics = compute_metrics(targets, scores, guesses, groups=groups)
    present = targets.any(axis=0)
    expected = [
        average_precision_score(truth, values) if truth.any() else 0.0
        for truth, values in zip(targets.T, scores.T, strict=True)
    ]
    assert metrics["macro_average_precision"] == pytest.approx(np.mean(expected))
    skipped = np.mean(np.array(expected)[present]) if present.any() else 0.0
    assert metrics["macro_average_precision_absent_skipped"] == pytest.approx(skipped)
    assert metrics["odd/macro_average_precision"] == pytest.approx(np.mean(expected[1::2]))
    assert metrics["none/macro_average_precision"] == 0


@settings(deadline=None, derandomize=True, max_examples=50)
@given(judgement=judgements())
def test_f1_of_averages_is_that_of_macro_precision_and_recall_and_never_below_macro_f1(judgement):
    metrics = compute_metrics(*judgement)
    p, r = metrics["macro_precision"], metrics["macro_recall"]
    expected = 2 * p * r / (p + r) if p + r else 0.0
    assert metrics["macro_f1_of_averages"] == pytest.approx(expected)
    assert metrics["macro_f1_of_averages"] >= metrics["macro_f1"] - 1e-12


def slow_propensity_scored(targets, scores, weights, k):
    """PSP, PSnDCG and PSR at k without ties: document by document, reached over reachable."""
    sums = np.zeros((2, 3))
    for truth, values in zip(targets, scores, strict=True):
        number = truth.sum()
        if not number:
            continue
        ideal = sum(1 / np.log2(rank + 2) for rank in range(min(k, number)))
        for place, key in enumerate((values, truth * weights)):
            first = sorted(range(len(key)), key=lambda c, key=key: -key[c])[:k]
            gains = [weights[c] * truth[c] for c in first]
            discounted = sum(gain / np.log2(rank + 2) for rank, gain in enumerate(gains))
            sums[place] += sum(gains) / k, discounted / ideal, sum(gains) / number
    return sums[0] / np.where(sums[1] > 0, sums[1], 1)


@pytest.mark.parametrize("labels", [2, 4, 12])
def test_propensity_scored_metrics_are_their_definition(labels):
    targets, scores, guesses = predict(labels=labels)
    targets[3] = 0
    weights = inverse_propensities(np.arange(1, labels + 1) ** 2, 500)
    metrics = compute_metrics(targets, scores, guesses, inverse_propensities=weights)
    for k in (1, 3, 5):
        names = (f"psp_at_{k}", f"psndcg_at_{k}", f"psr_at_{k}")
        expected = slow_propensity_scored(targets, scores, weights, k)
        assert [metrics[name] for name in names] == pytest.approx(expected)


def test_ties_count_as_the_mean_of_their_orders_in_propensity_scored_metrics():
    targets, weights = np.array([[1, 0, 1, 1]]), np.array([1.0, 2.0, 3.0, 4.0])
    tied = np.array([[0.5, 0.5, 0.5, 0.9]])
    orders = [
        slow_propensity_scored(targets, np.array([[*order, 9]]), weights, 3)
        for order in permutations([1.0, 2.0, 3.0])
    ]
    metrics = compute_metrics(targets, tied, targets, inverse_propensities=weights)
    found = [metrics[name] for name in ("psp_at_3", "psndcg_at_3", "psr_at_3")]
    assert found == pytest.approx(np.mean(orders, axis=0))


def test_equal_propensities_leave_recall_over_the_best_recall():
    targets, scores, guesses = predict()
    metrics = compute_metrics(targets, scores, guesses, inverse_propensities=np.full(9, 7.0))
    carried = np.maximum(targets.sum(axis=1), 1)
    best = np.mean(np.minimum(targets.sum(axis=1), 3) / carried)
    assert metrics["psr_at_3"] == pytest.approx(metrics["recall_at_3"] / best)
    assert metrics["psndcg_at_3"] == pytest.approx(
        metrics["ndcg_at_3"] / (targets.sum(axis=1) > 0).mean()
    )


def test_best_order_reaches_every_propensity_scored_metric():
    targets, _, _ = predict()
    weights = inverse_propensities(range(9), 100)
    metrics = compute_metrics(targets, targets * weights, targets, inverse_propensities=weights)
    names = [f"{name}_at_{k}" for name in ("psp", "psndcg", "psr") for k in (1, 3, 5)]
    assert [metrics[name] for name in names] == pytest.approx([1.0] * 9)
    nothing = np.zeros((3, 9))
    empty = compute_metrics(nothing, nothing, nothing, inverse_propensities=weights)
    assert [empty[name] for name in names] == [0.0] * 9


@pytest.mark.parametrize("documents", [1, 2, 3, 10_000])
def test_inverse_propensities_are_the_formula_and_never_below_1(documents):
    frequencies = np.unique([0, 1, 3, documents])
    weights = inverse_propensities(frequencies, documents)
    c = (np.log(documents) - 1) * 2.5**0.55
    assert weights == pytest.approx(np.maximum(1 + c * (frequencies + 1.5) ** -0.55, 1))
    assert (np.diff(weights) <= 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probabilities_are_judged_as_scikit_learn_does(dtype):
    targets, scores, guesses = predict()
    chances = (1 / (1 + np.exp(-3 * scores))).astype(dtype)
    chances[0, :2] = 0, 1
    groups = {"head": [0, 2], "tail": []}
    metrics = compute_metrics(targets, chances, guesses, groups=groups, probability=True)
    flat = targets.ravel(), chances.ravel()
    assert metrics["brier_score"] == pytest.approx(brier_score_loss(*flat), rel=1e-5)
    assert metrics["log_loss"] == pytest.approx(log_loss(*flat), rel=1e-5)
    assert metrics["calibration_error"] == pytest.approx(slow_calibration_error(*flat), rel=1e-5)
    head = targets[:, [0, 2]].ravel(), chances[:, [0, 2]].ravel()
    assert metrics["head/calibration_error"] == pytest.approx(
        slow_calibration_error(*head), rel=1e-5
    )
    assert "tail/calibration_error" not in metrics


def slow_calibration_error(truth, chances):
    error = 0.0
    for low in np.arange(10) / 10:
        inside = (chances >= low) & ((chances < low + 0.1) | (low == 0.9))
        if inside.any():
            error += inside.mean() * abs(chances[inside].mean() - truth[inside].mean())
    return error


def test_scores_that_are_no_probabilities_are_not_judged_as_such():
    metrics = compute_metrics(*predict(), groups={"head": [0]})
    missing = {"brier_score", "log_loss", "calibration_error", "head/calibration_error"}
    assert missing.isdisjoint(metrics)
    assert not [name for name in metrics if name.startswith("ps")]


def test_every_metric_of_a_report_is_computed_and_its_definition_says_what_is_better():
    targets, scores, guesses = predict()
    metrics = compute_metrics(
        targets,
        1 / (1 + np.exp(-scores)),
        guesses,
        groups={"head": [0], "medium": [1], "tail": [2]},
        inverse_propensities=np.ones(9),
        probability=True,
    )
    assert set(COLUMNS) <= set(metrics)
    told = {name for name, term in METRICS.items() if "Lower is better." in term.meaning}
    assert told == {name for name in METRICS if lower_is_better(name)}


@settings(deadline=None, derandomize=True, max_examples=50)
@given(judgement=judgements())
def test_undefined_cases_are_counted(judgement):
    targets, scores, guesses = judgement
    metrics = compute_metrics(targets, scores, guesses)
    nothing = (targets == 0) & (guesses == 0)
    assert metrics["undefined_labels"] == nothing.all(axis=0).sum()
    assert metrics["undefined_rows"] == nothing.all(axis=1).sum()
    assert metrics["rows_without_labels"] == (targets == 0).all(axis=1).sum()


@pytest.mark.parametrize("case", ["seed001", "seed001_absent_label"])
def test_metrics_are_the_golden_ones(case):
    golden = GOLDEN[case]
    metrics = compute_metrics(
        np.array(golden["targets"]), np.array(golden["scores"]), np.array(golden["predictions"])
    )
    expected = golden["values"]
    assert {name: metrics[name] for name in expected} == pytest.approx(expected, rel=0, abs=1e-9)


def test_absent_label_is_told_apart_by_the_two_macro_averages():
    golden = GOLDEN["seed001_absent_label"]
    metrics = compute_metrics(
        np.array(golden["targets"]), np.array(golden["scores"]), np.array(golden["predictions"])
    )
    assert metrics["undefined_labels"] == 1
    assert metrics["macro_f1_absent_as_one"] - metrics["macro_f1"] == pytest.approx(1 / 8)


def test_groups_of_the_golden_test_split_are_judged_apart():
    golden = GOLDEN["seed004"]
    chances = np.array(golden["test_probs"])
    guesses = chances > golden["best_threshold"]
    groups = golden["groups"]
    metrics = compute_metrics(np.array(golden["test_targets"]), chances, guesses, groups=groups)
    expected = {
        f"{group}/{name}": value
        for group, figures in golden["test"].items()
        for name, value in figures.items()
    }
    assert {name: metrics[name] for name in expected} == pytest.approx(expected, rel=0, abs=1e-9)
    assert metrics["micro_f1"] == metrics["total/micro_f1"]
    assert metrics["macro_f1"] == metrics["total/macro_f1"]


def test_golden_groups_are_those_of_the_cut_offs():
    golden = GOLDEN["seed004"]
    named = frequency_groups(
        golden["class_freq"], head_min=golden["head_min"], tail_max=golden["tail_max"]
    )
    for group in ("head", "medium", "tail"):
        assert [label for label, name in enumerate(named) if name == group] == golden["groups"][
            group
        ]


def test_groups_agree_with_scikit_learn_on_their_labels():
    targets, scores, guesses = predict()
    metrics = compute_metrics(targets, scores, guesses, groups={"odd": [1, 3, 7]})
    for average in ("micro", "macro"):
        expected = f1_score(targets[:, [1, 3, 7]], guesses[:, [1, 3, 7]], average=average)
        assert metrics[f"odd/{average}_f1"] == pytest.approx(expected)


def test_group_without_labels_scores_zero():
    metrics = compute_metrics(*predict(), groups={"tail": []})
    assert metrics["tail/micro_f1"] == metrics["tail/macro_f1"] == 0


def test_metrics_do_not_depend_on_the_blocks_they_are_computed_in(monkeypatch):
    targets, scores, guesses = predict()
    judgement = targets, 1 / (1 + np.exp(-scores)), guesses
    options = {"inverse_propensities": np.arange(1.0, 10.0), "probability": True}
    whole = compute_metrics(*judgement, groups={"tail": [3, 8]}, **options)
    monkeypatch.setattr("losslab.evaluation.confusion.BLOCK", 20)
    parts = compute_metrics(*judgement, groups={"tail": [3, 8]}, **options)
    assert parts == pytest.approx(whole, rel=1e-12)


def test_scores_that_are_no_numbers_are_refused():
    targets, scores, guesses = predict()
    scores[3, 2] = np.nan
    with pytest.raises(ValueError, match="found nan"):
        compute_metrics(targets, scores, guesses)


def test_sparse_predictions_give_the_same_metrics():
    targets, scores, guesses = predict()
    assert compute_metrics(targets, scores, sparse.csr_array(guesses)) == compute_metrics(
        targets, scores, guesses
    )


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.coo_array, lambda dense: dense == 1])
def test_form_of_the_targets_is_immaterial(form):
    targets, scores, guesses = predict()
    assert compute_metrics(form(targets), scores, guesses) == compute_metrics(
        targets, scores, guesses
    )


def test_only_the_order_of_scores_counts():
    targets, scores, guesses = predict()
    assert compute_metrics(targets, np.exp(scores), guesses) == compute_metrics(
        targets, scores, guesses
    )


def test_perfect_predictions_score_perfectly():
    targets, _, _ = predict()
    targets[:, 0] = 1
    metrics = compute_metrics(targets, targets.astype(float), targets)
    perfect = ("micro_f1", "macro_f1", "weighted_f1", "example_f1", "subset_accuracy")
    assert {metrics[name] for name in (*perfect, "average_precision")} == {1.0}
    assert metrics["hamming_loss"] == metrics["ranking_loss"] == 0
    assert metrics["one_error"] == pytest.approx(0, abs=1e-12)
    assert metrics["macro_average_precision"] == 1
    assert metrics["r_precision_at_5"] == pytest.approx(1)
    assert metrics["coverage_error"] == pytest.approx(targets.sum(axis=1).mean())


def test_no_labels_and_no_predictions_are_right_row_by_row():
    nothing = np.zeros((3, 4))
    metrics = compute_metrics(nothing, nothing, nothing)
    assert metrics["example_f1"] == metrics["subset_accuracy"] == 1
    assert metrics["macro_f1_absent_as_one"] == 1
    assert metrics["micro_f1"] == metrics["macro_f1"] == metrics["weighted_f1"] == 0
    assert metrics["average_precision"] == metrics["ranking_loss"] == 0
    assert metrics["coverage_error"] == metrics["macro_average_precision"] == 0
    assert metrics["one_error"] == 1
    assert metrics["undefined_rows"] == metrics["rows_without_labels"] == 3


def test_figures_are_plain_numbers():
    metrics = compute_metrics(*predict(), groups={"head": [0]})
    assert {type(value) for value in metrics.values()} == {int, float}


@pytest.mark.parametrize("position", [0, 2])
def test_shapes_other_than_that_of_the_scores_are_refused(position):
    judgement = list(predict(rows=4, labels=3))
    judgement[position] = judgement[position][:, :2]
    with pytest.raises(ValueError, match=r"expected documents x labels \(4, 3\).*got \(4, 2\)"):
        compute_metrics(*judgement)


def test_a_single_label_leaves_nothing_to_rank():
    targets, guesses = np.array([[1], [0], [1]]), np.array([[1], [0], [0]])
    metrics = compute_metrics(targets, np.array([[0.3], [0.1], [0.2]]), guesses)
    assert metrics["ranking_loss"] == 0
    assert metrics["average_precision"] == pytest.approx(2 / 3)
    assert metrics["micro_f1"] == pytest.approx(2 / 3)
