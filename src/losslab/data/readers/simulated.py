"""Simulated documents with long-tailed, co-occurring labels of a known distribution.

Label j has probability p_j, a power of its rank. Labels come in groups: group g is active in a
document with probability q_g, and then each of its labels with p_j / q_g, independently. So
P(j) = p_j, P(j, k) = p_j p_k / q_g for two labels of a group, and labels of different groups are
independent. Words are drawn from the words of a document's labels and from noise words.
"""

from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
from pydantic import Field

from losslab.data.corpus import Corpus
from losslab.errors import CorpusError

GROUP_SIZE = 5
WORDS_PER_LABEL = 5
NOISE_WORDS = 500
MAX_PROBABILITY = 0.9
SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]

Count = Annotated[int, Field(ge=1, le=10_000_000)]


def read_simulated(
    folder: Path | None = None,
    *,
    documents: Count = 1000,
    labels: Count = 50,
    words: Annotated[int, Field(ge=1, le=100_000)] = 40,
    cardinality: Annotated[float, Field(gt=0, le=10_000_000)] = 3.0,
    skew: Annotated[float, Field(ge=0, le=10)] = 1.0,
    cooccurrence: Annotated[float, Field(gt=0, le=1)] = 0.5,
    noise: Annotated[float, Field(ge=0, lt=1)] = 0.5,
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0,
) -> Corpus:
    """Simulate a corpus.

    Args:
        folder: unused; no files are read.
        documents: number of documents.
        labels: number of labels; the rarest may not occur.
        words: words per document.
        cardinality: expected labels per document.
        skew: exponent of the long tail; 0: all labels equally frequent.
        cooccurrence: probability of the most frequent label of a group, given the group.
        noise: share of noise words.
        seed: of all random draws.
    """
    random = np.random.default_rng(seed)
    truth = label_distribution(labels, cardinality, skew, cooccurrence)
    rows, columns = _draw_labels(truth, documents, random)
    label_sets: list[list[int]] = [[] for _ in range(documents)]
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        label_sets[row].append(column)
    names = truth["label"].tolist()
    simulated = [
        (
            f"simulated-{number}",
            _text(carried, words, noise, random),
            [names[label] for label in carried],
            None,
        )
        for number, carried in enumerate(label_sets)
    ]
    return Corpus.of(simulated, notes={"excluded": {}})


def label_distribution(
    labels: int, cardinality: float, skew: float, cooccurrence: float
) -> pd.DataFrame:
    """The true distribution: ``label``, ``probability``, ``group`` and ``group_probability``."""
    probabilities = label_probabilities(labels, cardinality, skew)
    groups = np.arange(labels) % -(-labels // GROUP_SIZE)
    most_frequent = probabilities[groups]  # the first labels, one per group
    width = len(str(labels - 1))
    return pd.DataFrame(
        {
            "label": [f"label-{number:0{width}d}" for number in range(labels)],
            "probability": probabilities,
            "group": groups,
            "group_probability": np.minimum(most_frequent / cooccurrence, 1.0),
        }
    )


def label_probabilities(labels: int, cardinality: float, skew: float) -> np.ndarray:
    """Powers of the rank, at most 0.9 each, that sum to the cardinality."""
    if cardinality > MAX_PROBABILITY * labels:
        raise CorpusError(
            f"simulated: expected a cardinality up to {MAX_PROBABILITY:g} x {labels} labels, "
            f"found {cardinality:g}"
        )
    powers = np.arange(1, labels + 1, dtype=float) ** -skew
    low, high = 0.0, MAX_PROBABILITY / powers[-1]
    for _ in range(200):
        middle = (low + high) / 2
        below = np.minimum(middle * powers, MAX_PROBABILITY).sum() < cardinality
        low, high = (middle, high) if below else (low, middle)
    return np.asarray(np.minimum(high * powers, MAX_PROBABILITY))


def label_words(label: int) -> list[str]:
    """The words of a label."""
    first = NOISE_WORDS + label * WORDS_PER_LABEL
    return [_word(number) for number in range(first, first + WORDS_PER_LABEL)]


def _draw_labels(
    truth: pd.DataFrame, documents: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of each label of each document, sorted by row."""
    rows, columns = [], []
    for _, group in truth.groupby("group"):
        probability = group["group_probability"].iloc[0]
        active = np.flatnonzero(random.random(documents) < probability)
        for label, share in zip(group.index, group["probability"] / probability, strict=True):
            carriers = active[random.random(len(active)) < share]
            rows.append(carriers)
            columns.append(np.full(len(carriers), label))
    row, column = np.concatenate(rows), np.concatenate(columns)
    order = np.lexsort((column, row))
    return row[order], column[order]


def _text(labels: list[int], words: int, noise: float, random: np.random.Generator) -> str:
    numbers = random.integers(NOISE_WORDS, size=words)
    if labels:
        informative = random.random(words) >= noise
        owner = random.choice(np.array(labels), size=words)
        which = random.integers(WORDS_PER_LABEL, size=words)
        numbers = np.where(informative, NOISE_WORDS + owner * WORDS_PER_LABEL + which, numbers)
    return " ".join(_word(number) for number in numbers.tolist())


def _word(number: int) -> str:
    """A pronounceable word, unique per number."""
    word = SYLLABLES[number % len(SYLLABLES)]
    while number := number // len(SYLLABLES):
        word += SYLLABLES[number % len(SYLLABLES)]
    return word
