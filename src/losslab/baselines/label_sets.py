"""Baselines by the label sets of training: most frequent labels, classifier chain, label powerset."""

from typing import Annotated

import numpy as np
from scipy import sparse
from scipy.special import expit

from losslab.baselines.base import Arrays, Baseline, require_at_most
from losslab.baselines.linear import (
    C_GRID,
    C,
    LinearBaseline,
    MaxLabels,
    decision_function,
    fit_binary,
    fit_one_vs_rest,
    linear_svc,
    logistic_regression,
)
from losslab.losses.hyperparameters import Option

MaxLabelSets = Annotated[int, Option("more label sets: the baseline is left out", minimum=1)]


class MostFrequentLabels(Baseline):
    """The most frequent labels of training, the same for every document; choose it as the floor.

    A label's score is its share of training documents. How many are predicted, validation decides.
    """

    name = "most_frequent"
    title = "Most frequent labels"
    choose_when = "one asks what a model must beat"

    def __init__(self) -> None:
        """Without options."""

    def fit(self, words: sparse.csr_array, labels: sparse.csr_array, **setting: float) -> Arrays:
        """``shares`` of training documents by label."""
        return {"shares": np.asarray(labels.mean(axis=0), dtype=np.float32).ravel()}

    @staticmethod
    def scores(model: Arrays, words: sparse.csr_array) -> np.ndarray:
        """The shares, a row per document."""
        return np.repeat(model["shares"][None], words.shape[0], axis=0)


class ClassifierChain(LinearBaseline):
    """Linear SVMs in a chain, each reads the labels predicted before it; choose it where labels
    depend on each other and are few (Read et al. 2011).

    Labels are chained from the most to the least frequent one.
    """

    name = "chain"
    title = "Classifier chain of linear SVMs on TF-IDF"
    paper = "Read et al. 2011"
    choose_when = "labels depend on each other and are few"
    tasks = ("multi",)

    def __init__(self, *, c: C = C_GRID, max_labels: MaxLabels = 100) -> None:
        self.c, self.max_labels = c, max_labels

    def fit(self, words: sparse.csr_array, labels: sparse.csr_array, **setting: float) -> Arrays:
        """As of a one-vs-rest model; ``order``, and ``links``: weights of the labels before."""
        truth = labels.toarray() > 0
        order = np.argsort(-truth.sum(axis=0), kind="stable")
        coef = np.zeros((len(order), words.shape[1]), dtype=np.float32)
        links = np.zeros((len(order), len(order)), dtype=np.float32)
        intercept = np.zeros(len(order), dtype=np.float32)
        inputs, svm = words.astype(np.float64), linear_svc(setting["c"])
        for place, label in enumerate(order):
            before = sparse.csr_array(truth[:, order[:place]].astype(np.float64))
            joined = sparse.csr_array(sparse.hstack([inputs, before], format="csr"))
            weights, intercept[label] = fit_binary(svm, joined, truth[:, label])
            weights = np.broadcast_to(weights, joined.shape[1])
            coef[label], links[label, order[:place]] = np.split(weights, [words.shape[1]])
        return {"coef": coef, "intercept": intercept, "links": links, "order": order}

    @staticmethod
    def scores(model: Arrays, words: sparse.csr_array) -> np.ndarray:
        """Distances to the hyperplanes, given the labels predicted before each."""
        scores = decision_function(model, words)
        predicted = np.zeros(scores.shape, dtype=np.float32)
        for label in model["order"]:
            scores[:, label] += predicted @ model["links"][label]
            predicted[:, label] = scores[:, label] > 0
        return scores


class LabelPowerset(LinearBaseline):
    """Every label set of training is a class; choose it where few label sets recur.

    One-vs-rest logistic regression gives ``p(set)``; a label's score is its marginal, the sum over
    the sets that hold it. A set that training does not have is never the likeliest one.
    """

    name = "powerset"
    title = "Label powerset by logistic regression on TF-IDF"
    paper = "Tsoumakas and Katakis 2007"
    choose_when = "few label sets recur"
    tasks = ("multi",)
    decision = "probability"

    def __init__(self, *, c: C = (10.0, 100.0, 1000.0), max_label_sets: MaxLabelSets = 500) -> None:
        self.c, self.max_label_sets = c, max_label_sets

    def require_size(self, labels: sparse.csr_array) -> None:
        """At most ``max_label_sets`` distinct label sets, each a class."""
        rows = labels.sorted_indices()
        bounds = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        number = len({rows.indices[start:end].tobytes() for start, end in bounds})
        option = f"{self.name}_baseline.max_label_sets"
        require_at_most(number, self.max_label_sets, option, "label sets")

    def fit(self, words: sparse.csr_array, labels: sparse.csr_array, **setting: float) -> Arrays:
        """``coef`` and ``intercept`` of every set, and ``sets`` (sets x labels)."""
        sets, of_document = np.unique(labels.toarray() > 0, axis=0, return_inverse=True)
        classes = sparse.csr_array(np.eye(len(sets), dtype=np.int8)[of_document.ravel()])
        fitted = fit_one_vs_rest(logistic_regression(setting["c"]), words, classes)
        return {**fitted, "sets": sets.astype(np.uint8)}

    @staticmethod
    def scores(model: Arrays, words: sparse.csr_array) -> np.ndarray:
        """The marginal probability of every label."""
        probabilities = expit(decision_function(model, words))
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        return np.asarray(probabilities @ model["sets"].astype(np.float32))
