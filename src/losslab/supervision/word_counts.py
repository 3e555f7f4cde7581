"""Word counts of texts (bag of words): documents x words."""

import re
from collections.abc import Callable, Sequence

import numpy as np
from scipy import sparse

from losslab.errors import SupervisionError

WORD = r"(?u)\b\w+\b"
SEGMENTERS = ("jieba",)
"""Word segmenters for texts without spaces."""


def count_words(
    texts: Sequence[str],
    *,
    lowercase: bool = True,
    token_pattern: str = WORD,
    segmenter: str | None = None,
) -> tuple[sparse.csr_array, list[str]]:
    """Word counts, documents x words, and the sorted vocabulary.

    ``segmenter="jieba"`` segments Chinese texts before ``token_pattern`` is matched.

    >>> counts, vocabulary = count_words(["a cat and a dog", "dog"])
    >>> vocabulary
    ['a', 'and', 'cat', 'dog']
    >>> counts.toarray().tolist()
    [[2, 1, 1, 1], [0, 0, 0, 1]]
    """
    from sklearn.feature_extraction.text import CountVectorizer

    vectoriser = CountVectorizer(lowercase=lowercase, token_pattern=token_pattern, dtype=np.int32)
    try:
        counts = vectoriser.fit_transform(segment_texts(texts, segmenter))
    except ValueError as error:
        if "empty vocabulary" not in str(error):
            raise
        raise SupervisionError(
            f"no words: none of the {len(texts)} texts matches keywords.token_pattern "
            f"'{token_pattern}'; check the texts or change the pattern"
        ) from error
    return sparse.csr_array(counts), list(vectoriser.get_feature_names_out())


def find_words(
    text: str, *, lowercase: bool = True, token_pattern: str = WORD, segmenter: str | None = None
) -> list[tuple[str, int, int]]:
    """The words of a text as in ``count_words``, with start and end offsets.

    >>> find_words("A cat.")
    [('a', 0, 1), ('cat', 2, 5)]
    """
    pattern, words, offset = re.compile(token_pattern), [], 0
    for piece in _segment_function(segmenter)(text):
        for match in pattern.finditer(piece):
            word, (start, end) = match[pattern.groups], match.span(pattern.groups)
            words.append((word.lower() if lowercase else word, offset + start, offset + end))
        offset += len(piece)
    return words


def segment_texts(texts: Sequence[str], segmenter: str | None) -> Sequence[str]:
    """Texts with spaces between their words; without a segmenter, as they are."""
    if segmenter is None:
        return texts
    segment = _segment_function(segmenter)
    return [" ".join(segment(text)) for text in texts]


def _segment_function(segmenter: str | None) -> Callable[[str], list[str]]:
    """Splits a text into pieces whose concatenation is the text."""
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
            "the segmenter 'jieba' is not installed: pip install 'losslab[chinese]'"
        ) from error
    cut: Callable[[str], list[str]] = rjieba.cut
    return cut
