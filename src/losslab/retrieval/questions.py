"""Splits of a question-answer corpus by article, and the rows of a split.

The texts of a corpus are its candidates, then its questions: row numbers of features, word counts
and embeddings follow this order.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from losslab.data.split import SPLITS, split_rows, stable_rank
from losslab.errors import CorpusError


@dataclass(frozen=True)
class QuestionRows:
    """The questions and candidates of one split.

    Attributes:
        questions: rows of the questions among all texts.
        candidates: rows of the candidates among all texts.
        positives: for each question the index of its positive in ``candidates``.
    """

    questions: np.ndarray
    candidates: np.ndarray
    positives: np.ndarray


def all_texts(questions: pd.DataFrame, candidates: pd.DataFrame) -> list[str]:
    """The texts of candidates, then those of questions."""
    return [*candidates["text"], *questions["text"]]


def question_rows(questions: pd.DataFrame, candidates: pd.DataFrame, split: str) -> QuestionRows:
    """The rows of a split; the candidates of the whole split are searched for each question.

    >>> candidates = pd.DataFrame({"id": ["a", "b", "c"], "split": ["train", "test", "test"]})
    >>> questions = pd.DataFrame({"candidate": ["a", "c"], "split": ["train", "test"]})
    >>> question_rows(questions, candidates, "test")
    QuestionRows(questions=array([4]), candidates=array([1, 2]), positives=array([1]))
    """
    rows, own = split_rows(candidates, split), split_rows(questions, split)
    positives = pd.Index(candidates["id"].iloc[rows]).get_indexer(questions["candidate"].iloc[own])
    return QuestionRows(len(candidates) + own, rows, positives)


def article_splits(
    questions: pd.DataFrame,
    candidates: pd.DataFrame,
    *,
    validation: float,
    test: float,
    validation_of_train: float,
    seed: int,
) -> tuple[pd.Series, pd.Series]:
    """The split of each question and of each candidate; all of an article have the same one.

    With train and test given, validation is a share of train's questions. Else all articles are
    split anew.

    Args:
        candidates: their ``labels`` are their article, alone.
        validation, test, validation_of_train: shares of the questions.
    """
    article = candidates["labels"].str[0]
    of_candidate = pd.Series(article.to_numpy(), index=candidates["id"])
    number = questions["candidate"].map(of_candidate).value_counts()
    counts = number.reindex(sorted(article.unique()), fill_value=0)
    given = candidates.assign(article=article).groupby("article")["split"].first()
    if {"train", "test"} <= set(given.dropna()):
        pool = counts[given[counts.index] == "train"]
        shares = {"train": 1 - validation_of_train, "validation": validation_of_train}
    else:
        pool, given = counts, given.map(lambda _: None)
        shares = {"train": 1 - validation - test, "validation": validation, "test": test}
    split = given.astype(object)
    split.loc[pool.index] = deal_articles(pool.to_dict(), shares, seed=seed)
    of_candidates = article.map(split)
    by_id = pd.Series(of_candidates.to_numpy(), index=candidates["id"])
    return _complete(questions["candidate"].map(by_id)), of_candidates


def deal_articles(
    questions: Mapping[str, int], shares: Mapping[str, float], *, seed: int
) -> np.ndarray:
    """The split of each article, in the order given, by its number of questions.

    Articles are laid end to end in a pseudo-random order, as long as they have questions; the split
    is the one that an article's middle falls in.

    >>> deal_articles({"a": 2, "b": 1, "c": 1}, {"train": 0.5, "test": 0.5}, seed=0).tolist()
    ['train', 'test', 'test']
    """
    names = list(questions)
    order = np.argsort(np.array([stable_rank(name, seed).hex() for name in names]), kind="stable")
    sizes = np.array([questions[names[index]] for index in order], dtype=float)
    middles = (np.cumsum(sizes) - sizes / 2) / max(sizes.sum(), 1)
    splits = np.empty(len(names), dtype=object)
    bounds = np.cumsum([*shares.values()][:-1])
    splits[order] = np.array([*shares], dtype=object)[np.digitize(middles, bounds)]
    return splits


def _complete(splits: pd.Series) -> pd.Series:
    missing = [name for name in SPLITS if name not in set(splits)]
    if missing:
        raise CorpusError(
            f"no question in the split {', '.join(missing)}: {len(splits)} questions in too few "
            "articles; use a larger corpus, or other shares in question_split"
        )
    return splits


def count_by_split(questions: pd.DataFrame, candidates: pd.DataFrame) -> dict[str, dict[str, int]]:
    """Questions, candidates and articles of each split."""
    articles = candidates.assign(article=candidates["labels"].str[0])
    return {
        split: {
            "questions": int((questions["split"] == split).sum()),
            "candidates": int((candidates["split"] == split).sum()),
            "articles": int(articles.loc[articles["split"] == split, "article"].nunique()),
        }
        for split in SPLITS
    }
