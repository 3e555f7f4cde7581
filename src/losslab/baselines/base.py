"""The base class of baselines: a word matrix and labels in, plain arrays out; search on validation."""

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.errors import NotApplicableError
from losslab.losses import Hyperparameter
from losslab.losses.hyperparameters import read_hyperparameters

Arrays = dict[str, np.ndarray]
Setting = dict[str, float]
Judge = Callable[[sparse.csr_array, np.ndarray], Mapping[str, float]]
"""Validation labels and scores to metrics by name."""
NO_SEED = 0
"""Baselines are deterministic: their one result stands under this key."""


class Baseline:
    """A classifier that is fitted, not trained by a loss; what it learned is a dictionary of arrays.

    A subclass states its facts as class attributes, as a ``Loss`` does, and its options in the
    signature of its constructor, keyword-only, each annotated with an ``Option``.
    """

    name: ClassVar[str] = ""
    """Its key in ``BASELINES``."""
    title: ClassVar[str] = ""
    paper: ClassVar[str] = ""
    choose_when: ClassVar[str] = ""
    family: ClassVar[str] = "baselines"
    tasks: ClassVar[tuple[Literal["multi", "single"], ...]] = ("multi", "single")
    decision: ClassVar[Literal["probability", "score"]] = "score"

    @classmethod
    def options(cls) -> dict[str, Hyperparameter]:
        """Its options by name, in the order of the signature."""
        return {each.name: each for each in read_hyperparameters(cls.__init__)}

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """The values of its options where nobody sets them."""
        return {name: option.default for name, option in cls.options().items()}

    def candidates(self) -> list[Setting]:
        """The settings to choose from on validation."""
        return [{}]

    def require_size(self, labels: sparse.csr_array) -> None:
        """Raise ``NotApplicableError`` where training labels are too many for it."""

    def fit(self, words: sparse.csr_array, labels: sparse.csr_array, **setting: float) -> Arrays:
        """Fit training documents x words and documents x labels."""
        raise NotImplementedError(f"{type(self).__name__}: write fit(self, words, labels)")

    @staticmethod
    def scores(model: Arrays, words: sparse.csr_array) -> np.ndarray:
        """Scores of documents x words by a fitted model, documents x labels in float32."""
        raise NotImplementedError("write scores(model, words)")


def require_at_most(number: int, limit: float, option: str, things: str) -> None:
    """Raise ``NotApplicableError`` if there are more ``things`` than the option allows."""
    if number > limit:
        raise NotApplicableError(f"{number:,} {things}, {option} is {limit:,.0f}")


def fit_best(
    baseline: Baseline,
    words: sparse.csr_array,
    labels: sparse.csr_array,
    *,
    train: np.ndarray,
    validation: np.ndarray,
    judge: Judge,
    select_by: str,
) -> tuple[Arrays, pd.DataFrame]:
    """Fit every candidate on train and keep the best on validation; the first wins a tie.

    Args:
        words, labels: of all documents; ``train`` and ``validation`` are their rows.
        judge: metrics of validation, among them ``select_by``.

    The search is a table with a row per candidate: its ``setting``, seconds and metrics.
    """
    from threadpoolctl import threadpool_limits

    baseline.require_size(labels[train])
    models, rows = [], []
    for setting in baseline.candidates():
        started = perf_counter()
        with threadpool_limits(1):  # vectors are short: threads would only wait for each other
            models.append(baseline.fit(words[train], labels[train], **setting))
        seconds = perf_counter() - started
        metrics = judge(labels[validation], baseline.scores(models[-1], words[validation]))
        rows.append(
            {"setting": describe_setting(setting), "train_seconds": seconds}
            | {f"validation_{name}": value for name, value in metrics.items()}
        )
    search = pd.DataFrame(rows)
    best = int(search[f"validation_{select_by}"].argmax())
    return models[best], _as_history(search, best, select_by)


def describe_setting(setting: Setting) -> str:
    """A candidate in words.

    >>> describe_setting({"c": 3.0})
    'c = 3'
    """
    return ", ".join(f"{name} = {value:g}" for name, value in setting.items())


def _as_history(search: pd.DataFrame, best: int, select_by: str) -> pd.DataFrame:
    """The search in the columns of a training's history: a candidate in place of an epoch."""
    return search.assign(
        seed=NO_SEED,
        epoch=np.arange(1, len(search) + 1),
        best=best + 1,
        train_seconds=search["train_seconds"].cumsum(),
        train_steps=0,
        train_loss=np.nan,
        validation_loss=np.nan,
        select_by=select_by,
        ended_by="search",
    )
