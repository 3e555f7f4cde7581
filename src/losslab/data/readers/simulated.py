"""Made-up documents with long-tailed, co-occurring labels whose truth is known.

Label j has probability p_j, a power of its rank. Labels come in groups: group g is about a document
with probability q_g, and then each of its labels with p_j / q_g, independently. So P(j) = p_j, for two
labels of a group P(j, k) = p_j p_k / q_g, and labels of different groups are independent. A
document's words are drawn from the words of its labels and from words that mean nothing.
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
IDLE_WORDS = 500
HIGHEST = 0.9
SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]

Count = Annotated[int, Field(ge=1)]


def read_simulated(
    folder: Path | None = None,
    *,
    documents: Count = 1000,
    labels: Count = 50,
    words: Count = 40,
    cardinality: Annotated[float, Field(gt=0)] = 3.0,
    skew: Annotated[float, Field(ge=0)] = 1.0,
    together: Annotated[float, Field(gt=0, le=1)] = 0.5,
    noise: Annotated[float, Field(ge=0, lt=1)] = 0.5,
    seed: Annotated[int, Field(ge=0)] = 0,
) -> Corpus:
    """Simulate a corpus; no folder is read.

    The table ``truth`` has, per label, ``probability``, ``group``, ``group_probability`` and ``words``.

    Args:
        folder: not looked at.
        documents: how many.
        labels: how many; some may be too rare to occur.
        words: per document.
        cardinality: labels per document, on average.
        skew: the exponent of the long tail; 0 makes all labels equally frequent.
        together: how surely the commonest label of a group is there when its group is.
        noise: the share of words that mean nothing.
        seed: of everything drawn.
    """
    random = np.random.default_rng(seed)
    truth = _truth(label_probabilities(labels, cardinality, skew), together)
    rows, columns = _draw_labels(truth, documents, random)
    held: list[list[int]] = [[] for _ in range(documents)]
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        held[row].append(column)
    names = truth["label"].tolist()
    made = [
        (f"simulated-{number}", _text(own, words, noise, random), [names[one] for one in own], None)
        for number, own in enumerate(held)
    ]
    return Corpus.of(made, notes={"left_out": {}}, tables={"truth": truth})


def label_probabilities(labels: int, cardinality: float, skew: float) -> np.ndarray:
    """Powers of the rank, at most 0.9 each, that add up to the cardinality."""
    if cardinality > HIGHEST * labels:
        raise CorpusError(
            f"simulated: expected a cardinality up to {HIGHEST:g} x {labels} labels, "
            f"found {cardinality:g}"
        )
    powers = np.arange(1, labels + 1, dtype=float) ** -skew
    low, high = 0.0, HIGHEST / powers[-1]
    for _ in range(200):
        middle = (low + high) / 2
        below = np.minimum(middle * powers, HIGHEST).sum() < cardinality
        low, high = (middle, high) if below else (low, middle)
    return np.minimum(high * powers, HIGHEST)


def _truth(probabilities: np.ndarray, together: float) -> pd.DataFrame:
    labels = len(probabilities)
    groups = np.arange(labels) % -(-labels // GROUP_SIZE)
    commonest = probabilities[groups]  # the first labels are the commonest of their groups
    width = len(str(labels - 1))
    return pd.DataFrame(
        {
            "label": [f"label-{number:0{width}d}" for number in range(labels)],
            "probability": probabilities,
            "group": groups,
            "group_probability": np.minimum(commonest / together, 1.0),
            "words": [_label_words(number) for number in range(labels)],
        }
    )


def _draw_labels(
    truth: pd.DataFrame, documents: int, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Document and label of each label given, by document."""
    rows, columns = [], []
    for _, group in truth.groupby("group"):
        probability = group["group_probability"].iloc[0]
        about = np.flatnonzero(random.random(documents) < probability)
        for label, share in zip(group.index, group["probability"] / probability, strict=True):
            chosen = about[random.random(len(about)) < share]
            rows.append(chosen)
            columns.append(np.full(len(chosen), label))
    row, column = np.concatenate(rows), np.concatenate(columns)
    order = np.lexsort((column, row))
    return row[order], column[order]


def _text(labels: list[int], words: int, noise: float, random: np.random.Generator) -> str:
    numbers = random.integers(IDLE_WORDS, size=words)
    if labels:
        meant = random.random(words) >= noise
        owner = random.choice(np.array(labels), size=words)
        which = random.integers(WORDS_PER_LABEL, size=words)
        numbers = np.where(meant, IDLE_WORDS + owner * WORDS_PER_LABEL + which, numbers)
    return " ".join(_word(number) for number in numbers.tolist())


def _label_words(label: int) -> list[str]:
    first = IDLE_WORDS + label * WORDS_PER_LABEL
    return [_word(number) for number in range(first, first + WORDS_PER_LABEL)]


def _word(number: int) -> str:
    """A word one can pronounce, another one for each number."""
    word = SYLLABLES[number % len(SYLLABLES)]
    while number := number // len(SYLLABLES):
        word += SYLLABLES[number % len(SYLLABLES)]
    return word
