"""Word vectors that an embedding layer starts from: pretrained ones, or small random ones."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from losslab.errors import EncoderError

PAD, UNKNOWN = "[PAD]", "[UNK]"


def first_vectors(
    vocabulary: Mapping[str, int], *, width: int, file: str | None, seed: int = 0
) -> np.ndarray:
    """Where the embeddings start: the file's vectors, small random ones for words it lacks."""
    known = {} if file is None else read_vectors(Path(file), vocabulary)
    width = len(next(iter(known.values()))) if known else width
    random = np.random.default_rng(seed)
    vectors = random.normal(scale=0.1, size=(len(vocabulary), width)).astype(np.float32)
    for word, vector in known.items():
        vectors[vocabulary[word]] = vector
    vectors[vocabulary[PAD]] = 0
    return vectors


def read_vectors(file: Path, vocabulary: Mapping[str, int]) -> dict[str, np.ndarray]:
    """The vectors of the vocabulary's words in a text file: a word and its numbers on each line.

    A first line with two numbers only, as word2vec writes it, is passed over; else it tells how
    many numbers a line has. What stands before them is the word, spaces included. A file without
    any of the words is refused.
    """
    try:
        lines = file.open(encoding="utf-8", errors="replace")
    except OSError as error:
        raise EncoderError(f"no word vectors in {file}: {error.strerror}") from error
    known: dict[str, np.ndarray] = {}
    width = 0
    with lines:
        for number, line in enumerate(lines, start=1):
            if number == 1 and len(line.split()) == 2:
                continue
            width = width or line.rstrip().count(" ")
            word, *numbers = line.rstrip().rsplit(" ", width)
            if word in vocabulary:
                known[word] = _as_vector(numbers, width, f"{file}, line {number}")
    if not known:
        raise EncoderError(
            f"{file} has a vector of none of the corpus's {len(vocabulary)} words: expected a word and "
            "its numbers on each line, with spaces between them"
        )
    return known


def _as_vector(numbers: list[str], width: int, place: str) -> np.ndarray:
    try:
        vector = np.array(numbers, dtype=np.float32)
    except ValueError as error:
        raise EncoderError(f"{place}: expected a word and numbers, found {error}") from error
    if len(vector) == 0 or len(vector) != width:
        raise EncoderError(f"{place}: expected {width or 'some'} numbers, found {len(vector)}")
    return vector
