"""Hyperparameter search by Optuna: what is searched of a loss, and the study of its trials."""

from losslab.search.space import Dimension, search_space
from losslab.search.study import (
    describe_search,
    refuse_other_search,
    remove_search,
    run_search,
    study_file,
)

__all__ = [
    "Dimension",
    "describe_search",
    "refuse_other_search",
    "remove_search",
    "run_search",
    "search_space",
    "study_file",
]
