"""Baselines through their nodes: scores, shifted hyperplanes, and what a report needs of them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import f1_score
from sklearn.svm import LinearSVC

from losslab.baselines import BASELINES
from losslab.errors import Failure, Skipped
from losslab.evaluation import find_mismatches, label_thresholds
from losslab.parameters import BootstrapSettings, LossSettings
from losslab.pipelines.evaluation import nodes as evaluation
from losslab.pipelines.training import nodes as training
from losslab.supervision import describe_labels, frequency_groups

from .small_data import SPLIT, make_data, make_splits, run_nodes

WORDS = sparse.csr_array(np.maximum(make_data()[0], 0))
LONG_TAILED = (make_data()[0][:, :4] > [-0.5, 0.3, 0.8, 1.2]).astype(np.int8)


def run_baseline(name, targets=None, *, task="multi", **options):
    """Fit, score, decide and evaluate: settings, scores, rules, predictions, metrics, history."""
    matrix = sparse.csr_array(make_data()[1] if targets is None else targets)
    splits, settings = make_splits(), LossSettings(name=name, options=options)
    model, history = training.fit_baseline(
        settings,
        WORDS,
        matrix,
        splits,
        grid=None,
        select_by="macro_f1",
        validation_rule="tuned",
        task=task,
    )
    scores, origin = training.score_words(settings, model, WORDS, splits)
    statistics = describe_labels(matrix[SPLIT == "train"])
    statistics["groups"] = frequency_groups(statistics["frequencies"])
    chosen = (None, task, "tuned", ["own", "per_label", "top_k"], statistics)
    rules = evaluation.fit_rules(settings, scores, matrix, splits, *chosen)
    predictions = evaluation.predict_labels(scores, rules)
    metrics, _ = evaluation.evaluate(
        settings,
        scores,
        origin,
        predictions,
        rules,
        history,
        matrix,
        splits,
        statistics,
        list("abcd"),
        {"task": task},
        BootstrapSettings(resamples=100, confidence=0.95, seed=0),
    )
    return scores, rules["seeds"]["0"], predictions, metrics, history


def test_decision_rules_shift_the_hyperplanes_of_the_svm():
    _, rules, predictions, _, _ = run_baseline("svm", LONG_TAILED, c=1.0)
    train, test = SPLIT == "train", SPLIT == "test"
    shifts = {
        "tuned": [rules["tuned"]["threshold"]] * 4,
        "per_label": rules["per_label"]["thresholds"],
    }
    assert len(set(shifts["per_label"])) == 4
    for label in range(4):
        for rule, shift in shifts.items():
            svm = LinearSVC(C=1.0, max_iter=10_000, random_state=0)
            svm.fit(WORDS[train], LONG_TAILED[train, label])
            svm.intercept_ -= shift[label]
            found = predictions.of("test", rule, 0).toarray()[:, label]
            assert found.tolist() == svm.predict(WORDS[test]).astype(bool).tolist()


def test_shift_per_label_lies_between_the_shared_one_and_the_labels_best_on_validation():
    scores, rules, _, _, _ = run_baseline("svm", LONG_TAILED, c=1.0)
    truth = LONG_TAILED[SPLIT == "validation"].astype(bool)
    best, shared = label_thresholds(truth, scores["validation"][0]), rules["tuned"]["threshold"]
    positives, strength = truth.sum(axis=0), rules["per_label"]["strength"]
    expected = shared + positives / (positives + strength) * (best - shared)
    assert rules["per_label"]["thresholds"] == pytest.approx(expected)


@pytest.mark.parametrize("name", BASELINES)
def test_metrics_are_those_of_the_predictions_of_one_deterministic_result(name):
    _, _, predictions, metrics, history = run_baseline(name)
    truth = make_data()[1][SPLIT == "test"]
    predicted = predictions.of("test", "tuned", 0).toarray()
    expected = f1_score(truth, predicted, average="macro", zero_division=0)
    assert metrics["mean"]["macro_f1"] == pytest.approx(expected)
    assert set(metrics["seeds"]) == {"0"}
    assert "best_epoch" not in metrics["mean"]
    assert metrics["training"]["mark"] is None
    assert metrics["training"]["seeds"]["0"]["setting"] in set(history["setting"])


def test_single_label_task_is_decided_by_the_highest_score():
    classes = WORDS.toarray()[:, :4].argmax(axis=1)
    targets = np.eye(4, dtype=np.int8)[classes]
    scores, rules, _, metrics, _ = run_baseline("svm", targets, task="single")
    assert rules == {"argmax": {"k": 1}}
    accuracy = (scores["test"][0].argmax(axis=1) == classes[SPLIT == "test"]).mean()
    assert metrics["mean"]["subset_accuracy"] == pytest.approx(accuracy)


def test_baseline_and_loss_are_comparable_whatever_the_number_of_seeds():
    loss, baseline = run_nodes(make_data()).metrics, run_baseline("svm")[3]
    assert find_mismatches({"db": loss, "svm": baseline}, "db") == {}
    assert find_mismatches({"db": loss, "svm": baseline}, "svm") == {}
    other = {**baseline, "conditions": {**baseline["conditions"], "task": "single"}}
    assert find_mismatches({"db": loss, "svm": other}, "db") == {
        "svm": ["task is single, expected multi"]
    }


def test_gathered_results_leave_out_what_does_not_apply():
    failed = Failure("svm_baseline.fit", "reason")
    gathered = evaluation.gather_family(svm=failed, chain=Skipped("fit", "200 labels"), db={})
    assert gathered == {"svm": failed, "db": {}}
