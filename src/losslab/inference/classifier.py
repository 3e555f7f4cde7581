"""A trained model that labels texts: scores, decision rules, explanations."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from losslab.errors import ModelError
from losslab.evaluation.predictions import predict_labels, top_labels
from losslab.inference.model import TrainedModel, refuse_other_parts
from losslab.inference.scorers import Scorer, make_scorer
from losslab.parameters import did_you_mean
from losslab.supervision import list_deletions, score_deletions

TEXTS_AT_ONCE = 4096
"""Texts scored at a time: enough to sort by length, bounds memory."""
MAX_SCORES = 2**24
"""Scores at a time: of very many labels fewer texts."""
MAX_EXPLANATIONS = 64
"""Texts explained at a time: each is scored once per word."""
MIN_DROP = 1e-6
"""A score that falls by less is rounding's."""


@dataclass(frozen=True)
class WordEffect:
    """A word of a text, and by how much a label's score falls without it."""

    word: str
    start: int
    end: int
    drop: float


@dataclass(frozen=True)
class Prediction:
    """The labels of a text, by a decision rule.

    Attributes:
        labels: predicted ones, highest score first.
        scores: of the predicted labels, and of as many others as were asked for, highest first.
        rule: the decision rule.
        words: of an explained prediction, by label: the words that speak most for it.
    """

    labels: tuple[str, ...]
    scores: Mapping[str, float]
    rule: str
    words: Mapping[str, tuple[WordEffect, ...]] = field(default_factory=dict)


class Classifier:
    """Labels texts as the pipeline would.

    Attributes:
        model: the trained model as plain data.
        labels: the label space, in the order of the columns of ``scores``.
        rules: the names of its decision rules; ``primary_rule`` is used unless another is asked for.
    """

    def __init__(self, model: TrainedModel, scorer: Scorer | None = None) -> None:
        refuse_other_parts(model, f"the model of {model.facts.method.name}")
        self.model, self.labels = model, model.labels
        self.rules = tuple(model.rules["rules"])
        self.primary_rule = str(model.rules["primary"])
        self._score = scorer or make_scorer(model)

    def __repr__(self) -> str:
        facts = self.model.facts
        recipe = f", {facts.recipe.name}" if facts.recipe else ""
        return (
            f"Classifier({facts.method.name}{recipe}, seed {facts.seed}, {len(self.labels)} labels)"
        )

    @property
    def texts_at_once(self) -> int:
        """Texts scored at a time."""
        return max(1, min(TEXTS_AT_ONCE, MAX_SCORES // len(self.labels)))

    def scores(self, texts: Sequence[str]) -> np.ndarray:
        """What decisions are made by, mostly probabilities: texts x labels."""
        texts = _require_texts(texts)
        if not texts:
            return np.empty((0, len(self.labels)))
        return self._score(texts)

    def predict(
        self, texts: Sequence[str], *, rule: str | None = None, top: int = 0
    ) -> list[Prediction]:
        """The labels of each text.

        Args:
            texts: a list of texts; a single text is refused, lest its letters be labelled.
            rule: a decision rule; None: the primary one.
            top: labels of highest score whose scores are given though they are not predicted.
        """
        return list(self.predict_stream(_require_texts(texts), rule=rule, top=top))

    def predict_stream(
        self, texts: Iterable[str], *, rule: str | None = None, top: int = 0
    ) -> Iterator[Prediction]:
        """Predictions of any number of texts, in order; a part of them is in memory at a time."""
        name = self.require_rule(rule)
        for part in batched(texts, self.texts_at_once):
            yield from self._decide(self.scores(part), name, top)

    def explain(
        self,
        texts: Sequence[str],
        *,
        rule: str | None = None,
        top: int = 0,
        max_words: int | None = None,
        words_per_label: int = 5,
    ) -> list[Prediction]:
        """Predictions with the words that each predicted label hangs on.

        Each word is deleted in turn; those whose deletion lowers a label's score most explain it. A
        text is scored once per word, so this takes as much longer.

        Args:
            texts, rule, top: see ``predict``.
            max_words: of each text, those at its start that are deleted; None: all.
            words_per_label: how many are named.
        """
        texts, name = _require_texts(texts), self.require_rule(rule)
        return [
            explained
            for part in batched(texts, MAX_EXPLANATIONS)
            for explained in self._explain(part, name, top, max_words, words_per_label)
        ]

    def require_rule(self, rule: str | None) -> str:
        """The rule, or the primary one; raise ModelError if the model has none of that name."""
        name = self.primary_rule if rule is None else rule
        if name not in self.rules:
            raise ModelError(did_you_mean("rule", name, self.rules))
        return name

    def _decide(self, scores: np.ndarray, rule: str, top: int) -> list[Prediction]:
        predicted = predict_labels(self.model.rules["rules"][rule], scores)
        rows = zip(scores, predicted, top_labels(scores, top), strict=True)
        return [self._prediction(*row, rule) for row in rows]

    def _prediction(
        self, scores: np.ndarray, predicted: np.ndarray, highest: np.ndarray, rule: str
    ) -> Prediction:
        """``highest``: labels that are shown though they need not be predicted."""
        chosen = {*highest.tolist(), *np.flatnonzero(predicted).tolist()}
        best = sorted(chosen, key=lambda label: (-scores[label], label))
        return Prediction(
            tuple(self.labels[label] for label in best if predicted[label]),
            {self.labels[label]: float(scores[label]) for label in best},
            rule,
        )

    def _explain(
        self, texts: list[str], rule: str, top: int, max_words: int | None, words_per_label: int
    ) -> Iterator[Prediction]:
        scores = self.scores(texts)
        effects = self._word_effects(texts, scores, rule, max_words)
        for row, prediction in enumerate(self._decide(scores, rule, top)):
            words = {
                label: strongest_words(effects.get((row, label), ()), words_per_label)
                for label in prediction.labels
            }
            yield Prediction(prediction.labels, prediction.scores, rule, words)

    def _word_effects(
        self, texts: list[str], scores: np.ndarray, rule: str, max_words: int | None
    ) -> dict[tuple[int, str], list[WordEffect]]:
        """By text and predicted label: every word whose deletion lowers its score."""
        predicted = predict_labels(self.model.rules["rules"][rule], scores)
        deletions = list_deletions(
            texts,
            np.flatnonzero(predicted.any(axis=1)),
            max_words=max_words,
            tokenization=self.model.facts.words,
        ).by_length(texts)
        effects: dict[tuple[int, str], list[WordEffect]] = {}
        for part, after in score_deletions(texts, deletions, self._score):
            drops = scores[part.document] - after
            for index, label in np.argwhere((drops > MIN_DROP) & predicted[part.document]):
                row, start, end = (int(of[index]) for of in (part.document, part.start, part.end))
                effect = WordEffect(texts[row][start:end], start, end, float(drops[index, label]))
                effects.setdefault((row, self.labels[label]), []).append(effect)
        return effects


def strongest_words(effects: Iterable[WordEffect], count: int) -> tuple[WordEffect, ...]:
    """The words of largest effect, those at the start first where they are equal."""
    return tuple(sorted(effects, key=lambda effect: (-effect.drop, effect.start))[:count])


def batched(items: Iterable[Any], size: int) -> Iterator[list[Any]]:
    """Lists of ``size`` items, the last one maybe shorter.

    >>> list(batched("abc", 2))
    [['a', 'b'], ['c']]
    """
    iterator = iter(items)
    while part := list(islice(iterator, size)):
        yield part


def _require_texts(texts: Sequence[str]) -> list[str]:
    if isinstance(texts, str):
        raise ModelError("expected a list of texts, got one text: write [text]")
    listed = list(texts)
    for index, text in enumerate(listed):
        if not isinstance(text, str):
            raise ModelError(f"text {index}: expected a string, got {type(text).__name__}")
    return listed
