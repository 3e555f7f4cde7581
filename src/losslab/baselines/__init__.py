"""Baselines: classical classifiers on TF-IDF that the losses are compared with.

``METHODS`` are all rows of a comparison, losses and baselines. Both tell their name, title, family,
tasks and whether their scores are probabilities.
"""

from losslab.baselines.base import Baseline, fit_best
from losslab.baselines.label_sets import ClassifierChain, LabelPowerset, MostFrequentLabels
from losslab.baselines.linear import LogisticRegression, SupportVectorMachine
from losslab.losses import LOSSES, Loss

BASELINES: dict[str, type[Baseline]] = {
    "most_frequent": MostFrequentLabels,
    "svm": SupportVectorMachine,
    "logistic": LogisticRegression,
    "chain": ClassifierChain,
    "powerset": LabelPowerset,
}
"""Every baseline by name; their order is the order of rows and pipelines."""

METHODS: dict[str, type[Loss] | type[Baseline]] = {**LOSSES, **BASELINES}
"""Every loss and baseline by name."""

__all__ = [
    "BASELINES",
    "METHODS",
    "Baseline",
    "ClassifierChain",
    "LabelPowerset",
    "LogisticRegression",
    "MostFrequentLabels",
    "SupportVectorMachine",
    "fit_best",
]
