"""Baselines agree with scikit-learn, are chosen on validation, and are bounded in size."""

from functools import partial

import numpy as np
import pytest
from safetensors.numpy import load, save
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.svm import LinearSVC

from losslab.baselines import BASELINES, METHODS, fit_best
from losslab.errors import NotApplicableError
from losslab.evaluation import judge_epoch
from losslab.losses import LOSSES

ROWS = {"train": np.arange(80), "validation": np.arange(80, 110)}
TEST = np.arange(110, 140)
JUDGE = partial(judge_epoch, grid=None, task="multi")


@pytest.fixture(scope="module")
def words() -> sparse.csr_array:
    random = np.random.default_rng(0)
    dense = random.random((140, 12)) * (random.random((140, 12)) < 0.5)
    return sparse.csr_array(dense / np.linalg.norm(dense, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def labels(words) -> sparse.csr_array:
    noise = 0.1 * np.random.default_rng(1).normal(size=(140, 4))
    truth = words.toarray()[:, :4] + noise > 0.15
    truth[:, 3] |= truth[:, 0]  # labels depend on each other
    return sparse.csr_array(truth.astype(np.int8))


def fit(name, words, labels, **setting):
    return BASELINES[name]().fit(words[ROWS["train"]], labels[ROWS["train"]], **setting)


def test_svm_scores_are_the_decision_functions_of_one_linear_svc_per_label(words, labels):
    scores = BASELINES["svm"].scores(fit("svm", words, labels, c=3.0), words[TEST])
    train, truth = words[ROWS["train"]], labels[ROWS["train"]].toarray()
    for label in range(4):
        svm = LinearSVC(C=3.0, max_iter=10_000, random_state=0).fit(train, truth[:, label])
        assert scores[:, label] == pytest.approx(svm.decision_function(words[TEST]), abs=1e-5)


def test_logistic_scores_are_probabilities_of_one_logistic_regression_per_label(words, labels):
    scores = BASELINES["logistic"].scores(fit("logistic", words, labels, c=10.0), words[TEST])
    train, truth = words[ROWS["train"]], labels[ROWS["train"]].toarray()
    for label in range(4):
        model = LogisticRegression(C=10.0, solver="liblinear", random_state=0)
        expected = model.fit(train, truth[:, label]).predict_proba(words[TEST])[:, 1]
        assert scores[:, label] == pytest.approx(expected, abs=1e-4)


def test_chain_scores_are_those_of_scikit_learns_chain_from_the_most_frequent_label(words, labels):
    model = fit("chain", words, labels, c=3.0)
    truth = labels[ROWS["train"]].toarray()
    order = np.argsort(-truth.sum(axis=0), kind="stable")
    assert model["order"].tolist() == order.tolist()
    svm = LinearSVC(C=3.0, max_iter=10_000, random_state=0)
    expected = ClassifierChain(svm, order=order).fit(words[ROWS["train"]], truth)
    scores = BASELINES["chain"].scores(model, words[TEST])
    assert scores == pytest.approx(expected.decision_function(words[TEST]), abs=1e-3)
    assert np.abs(model["links"]).max() > 0.1  # labels do read the ones before


def test_powerset_scores_are_marginals_of_the_label_sets_probabilities(words, labels):
    model = fit("powerset", words, labels, c=10.0)
    truth = labels[ROWS["train"]].toarray()
    names = np.array(["".join(map(str, row)) for row in truth])
    sets = OneVsRestClassifier(LogisticRegression(C=10.0, solver="liblinear", random_state=0))
    probabilities = sets.fit(words[ROWS["train"]], names).predict_proba(words[TEST])
    holds = np.array([[int(bit) for bit in name] for name in sets.classes_])
    scores = BASELINES["powerset"].scores(model, words[TEST])
    assert scores == pytest.approx(probabilities @ holds, abs=1e-4)


def test_most_frequent_labels_score_every_document_by_shares_of_training(words, labels):
    scores = BASELINES["most_frequent"].scores(fit("most_frequent", words, labels), words[TEST])
    expected = labels[ROWS["train"]].toarray().mean(axis=0)
    assert (scores == expected.astype(np.float32)).all()
    assert len(scores) == len(TEST)


@pytest.mark.parametrize("name", ["svm", "logistic", "chain"])
def test_label_that_never_or_always_occurs_in_training_scores_its_log_odds(words, labels, name):
    truth = labels.toarray()
    truth[:, 0], truth[:, 1] = 0, 1
    model = fit(name, words, sparse.csr_array(truth), c=1.0)
    assert (model["coef"][:2] == 0).all()
    assert model["intercept"][:2] == pytest.approx([np.log(0.5 / 80.5), np.log(80.5 / 0.5)])


@pytest.mark.parametrize("name", BASELINES)
def test_saved_arrays_score_as_the_fitted_ones(words, labels, name):
    model, _ = fit_best(BASELINES[name](), words, labels, **ROWS, judge=JUDGE, select_by="macro_f1")
    scores = BASELINES[name].scores(model, words[TEST])
    assert scores.shape == (30, 4)
    assert scores.dtype == np.float32
    again = BASELINES[name].scores(load(save(model)), words[TEST])
    assert np.array_equal(scores, again)


@pytest.mark.parametrize("name", BASELINES)
def test_two_fits_give_the_same_arrays(words, labels, name):
    one, two = (
        fit_best(BASELINES[name](), words, labels, **ROWS, judge=JUDGE, select_by="macro_f1")[0]
        for _ in range(2)
    )
    assert {key: array.tobytes() for key, array in one.items()} == {
        key: array.tobytes() for key, array in two.items()
    }


def test_search_keeps_the_candidate_of_best_validation_metric(words, labels):
    grid = [0.01, 0.1, 1.0, 10.0]
    svm = BASELINES["svm"](c=grid)
    model, search = fit_best(svm, words, labels, **ROWS, judge=JUDGE, select_by="micro_f1")
    by_c = [fit("svm", words, labels, c=c) for c in grid]
    validation = ROWS["validation"]
    metrics = [
        JUDGE(labels[validation], svm.scores(each, words[validation]))["micro_f1"] for each in by_c
    ]
    assert search["validation_micro_f1"].tolist() == pytest.approx(metrics)
    best = int(np.argmax(metrics))
    assert search["best"].tolist() == [best + 1] * 4
    assert search["setting"].tolist() == ["c = 0.01", "c = 0.1", "c = 1", "c = 10"]
    assert np.array_equal(model["coef"], by_c[best]["coef"])


def test_test_labels_change_nothing(words, labels):
    other = labels.toarray()
    other[TEST] = 1 - other[TEST]
    fitted = [
        fit_best(BASELINES["svm"](), words, each, **ROWS, judge=JUDGE, select_by="macro_f1")[0]
        for each in (labels, sparse.csr_array(other))
    ]
    assert np.array_equal(fitted[0]["coef"], fitted[1]["coef"])


def test_highest_svm_score_is_scikit_learns_class_on_single_label_data(words):
    classes = words.toarray()[:, :4].argmax(axis=1)
    one_hot = sparse.csr_array(np.eye(4, dtype=np.int8)[classes])
    scores = BASELINES["svm"].scores(fit("svm", words, one_hot, c=1.0), words[TEST])
    svm = LinearSVC(C=1.0, max_iter=10_000, random_state=0)
    expected = svm.fit(words[ROWS["train"]], classes[ROWS["train"]]).predict(words[TEST])
    assert scores.argmax(axis=1).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("name", "option", "number", "things"),
    [
        ("svm", "max_labels", 4, "labels"),
        ("logistic", "max_labels", 4, "labels"),
        ("chain", "max_labels", 4, "labels"),
        ("powerset", "max_label_sets", None, "label sets"),
    ],
)
def test_more_than_the_bound_is_not_applicable(words, labels, name, option, number, things):
    truth = labels[ROWS["train"]]
    number = number or len(np.unique(truth.toarray(), axis=0))
    BASELINES[name](**{option: number}).require_size(truth)
    told = f"{number} {things}, {name}_baseline.{option} is {number - 1}"
    with pytest.raises(NotApplicableError, match=told):
        BASELINES[name](**{option: number - 1}).require_size(truth)


def test_facts_are_complete_and_names_are_not_those_of_losses():
    assert list(METHODS) == [*LOSSES, *BASELINES]
    for name, baseline in BASELINES.items():
        assert baseline.name == name
        assert baseline.title
        assert baseline.choose_when
        assert "choose it" in " ".join((baseline.__doc__ or "").split())
