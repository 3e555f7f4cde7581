"""One-vs-rest linear classifiers: support vector machine and logistic regression.

A label's score is ``w x + b``; C is the inverse strength of the L2 penalty.
"""

from collections.abc import Sequence
from math import inf, log
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from scipy.special import expit

from losslab.baselines.base import Arrays, Baseline, Setting, require_at_most
from losslab.losses.hyperparameters import Option

C = Annotated[
    float | Sequence[float],
    Option("tried on validation, best by select_by; one number: no search", 1e-6, 1e6),
]
MaxLabels = Annotated[int, Option("more labels: the baseline is left out", minimum=1)]
C_GRID = (0.1, 0.3, 1.0, 3.0, 10.0)
MAX_ITERATIONS = 10_000


class LinearBaseline(Baseline):
    """A baseline made of linear classifiers, with C chosen on validation."""

    c: float | Sequence[float]
    max_labels: float = inf

    def candidates(self) -> list[Setting]:
        """One candidate per value of C."""
        values = self.c if isinstance(self.c, Sequence) else [self.c]
        return [{"c": float(value)} for value in values]

    def require_size(self, labels: sparse.csr_array) -> None:
        """At most ``max_labels`` labels: their weights are dense."""
        option = f"{self.name}_baseline.max_labels"
        require_at_most(labels.shape[1], self.max_labels, option, "labels")


class SupportVectorMachine(LinearBaseline):
    """One-vs-rest linear SVM with squared hinge loss; choose it as the classical reference.

    Decision rules shift its hyperplanes on validation: ``tuned`` all by the same distance,
    ``per_label`` each by its own (Huang et al. 2021, A.1).
    """

    name = "svm"
    title = "One-vs-rest linear SVM on TF-IDF"
    paper = "Huang et al. 2021, A.1"
    choose_when = "a strong classical reference is wanted, in seconds"

    def __init__(self, *, c: C = C_GRID, max_labels: MaxLabels = 5000) -> None:
        self.c, self.max_labels = c, max_labels

    def fit(self, words: sparse.csr_array, labels: sparse.csr_array, **setting: float) -> Arrays:
        """``coef`` (labels x words) and ``intercept`` of every label."""
        return fit_one_vs_rest(linear_svc(setting["c"]), words, labels)

    @staticmethod
    def scores(model: Arrays, words: sparse.csr_array) -> np.ndarray:
        """Signed distances to the hyperplanes, scaled by the norm of the weights."""
        return decision_function(model, words)


class LogisticRegression(LinearBaseline):
    """One-vs-rest logistic regression with an L2 penalty; choose it for probabilities.

    ``p = sigmoid(w x + b)`` of each label by itself.
    """

    name = "logistic"
    title = "One-vs-rest logistic regression on TF-IDF"
    choose_when = "probabilities of a linear model are wanted"
    decision = "probability"

    def __init__(self, *, c: C = (1.0, 10.0, 100.0, 1000.0), max_labels: MaxLabels = 5000) -> None:
        self.c, self.max_labels = c, max_labels

    def fit(self, words: sparse.csr_array, labels: sparse.csr_array, **setting: float) -> Arrays:
        """``coef`` (labels x words) and ``intercept`` of every label."""
        return fit_one_vs_rest(logistic_regression(setting["c"]), words, labels)

    @staticmethod
    def scores(model: Arrays, words: sparse.csr_array) -> np.ndarray:
        """Probabilities of every label."""
        return np.asarray(expit(decision_function(model, words)))


def linear_svc(c: float) -> Any:
    """scikit-learn's linear SVM."""
    from sklearn.svm import LinearSVC

    return LinearSVC(C=c, max_iter=MAX_ITERATIONS, random_state=0)


def logistic_regression(c: float) -> Any:
    """scikit-learn's logistic regression of two classes, by liblinear."""
    from sklearn.linear_model import LogisticRegression as TwoClasses

    return TwoClasses(C=c, solver="liblinear", max_iter=MAX_ITERATIONS, random_state=0)


def fit_one_vs_rest(classifier: Any, words: sparse.csr_array, labels: sparse.csr_array) -> Arrays:
    """``coef`` and ``intercept`` of a binary classifier for each label, whatever the others are."""
    inputs, columns = words.astype(np.float64), sparse.csc_array(labels)
    coef = np.zeros((labels.shape[1], words.shape[1]), dtype=np.float32)
    intercept = np.zeros(labels.shape[1], dtype=np.float32)
    for label in range(labels.shape[1]):
        truth = columns[:, [label]].toarray().ravel() > 0
        coef[label], intercept[label] = fit_binary(classifier, inputs, truth)
    return {"coef": coef, "intercept": intercept}


def fit_binary(
    classifier: Any, inputs: sparse.csr_array, truth: np.ndarray
) -> tuple[np.ndarray | float, float]:
    """Weights and intercept of one label; of one that never or always occurs, its log odds alone."""
    positives = int(truth.sum())
    if positives in (0, len(truth)):
        return 0.0, log((positives + 0.5) / (len(truth) - positives + 0.5))
    fitted = classifier.fit(inputs, truth)
    return fitted.coef_[0], float(fitted.intercept_[0])


def decision_function(model: Arrays, words: sparse.csr_array) -> np.ndarray:
    """``w x + b`` of every document and row of weights."""
    return np.asarray(words.astype(np.float32) @ model["coef"].T + model["intercept"])
