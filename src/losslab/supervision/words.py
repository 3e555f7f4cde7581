"""Words of texts, counted: the matrix that keywords and soft labels are made from."""

import re
from collections.abc import Callable, Sequence

import numpy as np
from scipy import sparse

from losslab.errors import SupervisionError

WORD = r"(?u)\b\w+\b"
SEGMENTERS = ("jieba",)
"""What puts spaces between the words of texts that come without."""


def count_words(
    texts: Sequence[str],
    *,
    lowercase: bool = True,
    token_pattern: str = WORD,
    segmenter: str | None = None,
) -> tuple[sparse.csr_array, list[str]]:
    """Documents x words, and the words in the order of the columns (sorted).

    ``segmenter="jieba"`` cuts Chinese texts into words before ``token_pattern`` is looked for.

    >>> counts, vocabulary = count_words(["a cat and a dog", "dog"])
    >>> vocabulary
    ['a', 'and', 'cat', 'dog']
    >>> counts.toarray().tolist()
    [[2, 1, 1, 1], [0, 0, 0, 1]]
    """
    from sklearn.feature_extraction.text import CountVectorizer

    vectoriser = CountVectorizer(lowercase=lowercase, token_pattern=token_pattern, dtype=np.int32)
    try:
        counts = vectoriser.fit_transform(_segment(texts, segmenter))
    except ValueError as error:
        if "empty vocabulary" not in str(error):
            raise
        raise SupervisionError(
            f"no words: none of the {len(texts)} texts holds anything that the token pattern "
            f"'{token_pattern}' finds; check the texts, or give another keywords.token_pattern"
        ) from error
    return sparse.csr_array(counts), list(vectoriser.get_feature_names_out())


def find_words(
    text: str, *, lowercase: bool = True, token_pattern: str = WORD, segmenter: str | None = None
) -> list[tuple[str, int, int]]:
    """The words of a text as ``count_words`` counts them, with where each begins and ends.

    >>> find_words("A cat.")
    [('a', 0, 1), ('cat', 2, 5)]
    """
    pattern, found, offset = re.compile(token_pattern), [], 0
    for piece in _cutter(segmenter)(text):
        for match in pattern.finditer(piece):
            word, (start, end) = match[pattern.groups], match.span(pattern.groups)
            found.append((word.lower() if lowercase else word, offset + start, offset + end))
        offset += len(piece)
    return found


def _segment(texts: Sequence[str], segmenter: str | None) -> Sequence[str]:
    cut = _cutter(segmenter)
    return texts if segmenter is None else [" ".join(cut(text)) for text in texts]


def _cutter(segmenter: str | None) -> Callable[[str], list[str]]:
    """What cuts a text into pieces that make it up again."""
    if segmenter is None:
        return lambda text: [text]
    if segmenter not in SEGMENTERS:
        raise SupervisionError(
            f"unknown segmenter {segmenter!r}; choose from {', '.join(SEGMENTERS)}"
        )
    try:
        import rjieba
    except ModuleNotFoundError as error:
        raise SupervisionError(
            "the segmenter 'jieba' is not installed; it comes with pip install 'losslab[chinese]'"
        ) from error
    return rjieba.cut
