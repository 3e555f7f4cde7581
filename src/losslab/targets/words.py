"""Words of texts, counted: the matrix that keywords and soft labels are made from."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from losslab.targets.errors import TargetsError

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
        raise TargetsError(
            f"no words: none of the {len(texts)} texts holds anything that the token pattern "
            f"'{token_pattern}' finds; check the texts, or give another keywords.token_pattern"
        ) from error
    return sparse.csr_array(counts), list(vectoriser.get_feature_names_out())


def _segment(texts: Sequence[str], segmenter: str | None) -> Sequence[str]:
    if segmenter is None:
        return texts
    if segmenter not in SEGMENTERS:
        raise TargetsError(f"unknown segmenter {segmenter!r}; choose from {', '.join(SEGMENTERS)}")
    try:
        import rjieba
    except ModuleNotFoundError as error:
        raise TargetsError(
            "the segmenter 'jieba' is not installed; it comes with pip install 'losslab[chinese]'"
        ) from error
    return [" ".join(rjieba.cut(text)) for text in texts]
