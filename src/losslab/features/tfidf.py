"""TF-IDF: documents x words, with vocabulary and idf of the training documents.

``(1 + ln tf) * idf``, each document scaled to length 1; ``idf = ln((1 + N) / (1 + df)) + 1``.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from losslab.errors import SupervisionError
from losslab.parameters import TfidfSettings
from losslab.supervision import segment_texts

Vocabulary = dict[str, Any]
"""``words``, their ``idf``, and the ``settings`` that made them: all that new texts need."""


def learn_vocabulary(texts: Sequence[str], settings: TfidfSettings) -> Vocabulary:
    """Words and idf of training texts.

    ``min_df``: documents a word must be in; ``max_features``: the most frequent words are kept.
    """
    limits = {"min_df": settings.min_df, "max_features": settings.max_features}
    vectorizer = _vectorizer(settings, **limits)
    try:
        vectorizer.fit(segment_texts(texts, settings.segmenter))
    except ValueError as error:
        raise SupervisionError(
            f"no words for TF-IDF in {len(texts)} training texts: {error}; check tfidf.token_pattern "
            "and tfidf.stop_words, or lower tfidf.min_df"
        ) from error
    words = [str(word) for word in vectorizer.get_feature_names_out()]
    return {"words": words, "idf": vectorizer.idf_.tolist(), "settings": settings.model_dump()}


def weigh_words(texts: Sequence[str], vocabulary: Mapping[str, Any]) -> sparse.csr_array:
    """The TF-IDF matrix of texts, documents x words in float32; unknown words are left out."""
    settings = TfidfSettings.model_validate(vocabulary["settings"])
    vectorizer = _vectorizer(settings, vocabulary=vocabulary["words"])
    vectorizer.idf_ = np.asarray(vocabulary["idf"])
    return sparse.csr_array(
        vectorizer.transform(segment_texts(texts, settings.segmenter)), dtype=np.float32
    )


def _vectorizer(settings: TfidfSettings, **options: Any) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    return TfidfVectorizer(
        lowercase=settings.lowercase,
        token_pattern=settings.token_pattern,
        stop_words=settings.stop_words,
        sublinear_tf=settings.sublinear_tf,
        **options,
    )
