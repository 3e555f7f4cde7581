"""Element keywords: words whose deletion lowers a label's probability (MaskLoss, appendix A.3).

Of documents that a trained baseline predicts exactly, each word is deleted in turn and the rest is
scored. A word is a keyword of each label whose probability drops by more than
``min_probability_drop`` (t in the paper). The map from words to labels is global; a document's group
is the union over its words.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.errors import SupervisionError
from losslab.supervision.deletions import Deletions, ScoreTexts, list_deletions, score_deletions

logger = logging.getLogger(__name__)
THRESHOLD = 0.5
"""Decision threshold of the paper."""


@dataclass(frozen=True)
class ElementKeywords:
    """Keywords as words x labels (0 or 1), and a record of the search."""

    words: sparse.csr_array
    record: dict[str, Any]


def find_element_keywords(
    texts: Sequence[str],
    targets: sparse.csr_array,
    probabilities: np.ndarray,
    score_texts: ScoreTexts,
    vocabulary: Sequence[str],
    *,
    min_probability_drop: float,
    select: str = "right",
    max_documents: int | None = None,
    max_words: int | None = None,
    seed: int = 0,
    tokenization: Mapping[str, Any] | None = None,
) -> ElementKeywords:
    """Search the documents that a baseline predicts exactly (``select="wrong"``: the others).

    Args:
        texts: training documents.
        targets: documents x labels.
        probabilities: of the baseline, documents x labels.
        score_texts: the baseline's probabilities of a list of texts.
        vocabulary: columns of the word counts.
        min_probability_drop: drop of a label's probability that makes a word its keyword.
        select: ``right`` or ``wrong``.
        max_documents: sample size, drawn by ``seed``; None: all selected.
        max_words: first words per document; None: all.
        seed: of the sample.
        tokenization: ``lowercase``, ``token_pattern`` and ``segmenter`` of the word counts.
    """
    if not 0 < min_probability_drop <= 1:
        raise SupervisionError(
            f"min_probability_drop must be between 0 and 1, got {min_probability_drop:g}"
        )
    selected = select_documents(targets, probabilities, select)
    searched = _sample(selected, max_documents, seed)
    deletions = list_deletions(
        texts,
        searched,
        vocabulary=vocabulary,
        max_words=max_words,
        tokenization=tokenization or {},
    ).by_length(texts)
    pairs = _dropped_pairs(texts, probabilities, deletions, score_texts, min_probability_drop)
    shape = (len(vocabulary), targets.shape[1])
    counts = sparse.csr_array((np.ones(len(pairs), dtype=np.int32), tuple(pairs.T)), shape=shape)
    keywords = sparse.csr_array((counts > 0).astype(np.int8))
    record = {
        "select": select,
        "min_probability_drop": min_probability_drop,
        "max_documents": max_documents,
        "max_words": max_words,
        "seed": seed,
        "documents": len(texts),
        "documents_selected": len(selected),
        "documents_searched": len(searched),
        "texts_scored": len(deletions),
        "keywords": int((np.diff(keywords.indptr) > 0).sum()),
        "pairs": int(keywords.nnz),
    }
    logger.info(
        "%(documents_searched)d of %(documents_selected)d documents searched, %(texts_scored)d "
        "texts scored: %(keywords)d element keywords",
        record,
    )
    return ElementKeywords(keywords, record)


def select_documents(
    targets: sparse.csr_array, probabilities: np.ndarray, select: str
) -> np.ndarray:
    """Rows of the documents whose labels the baseline predicts exactly, or of the others."""
    if select not in ("right", "wrong"):
        raise SupervisionError(f"select must be right or wrong, got {select!r}")
    predicted = sparse.csr_array(probabilities > THRESHOLD)
    differences = (predicted != sparse.csr_array(targets).astype(bool)).sum(axis=1)
    right = np.asarray(differences).ravel() == 0
    return np.flatnonzero(right if select == "right" else ~right)


def element_groups(counts: sparse.csr_array, keywords: sparse.csr_array) -> sparse.csr_array:
    """Documents x labels, 1 if a word of the document is a keyword of the label."""
    occurrences = sparse.csr_array(counts, dtype=np.int32) @ keywords.astype(np.int32)
    return sparse.csr_array((occurrences > 0).astype(np.int8))


def tabulate_element_keywords(
    keywords: sparse.csr_array,
    counts: sparse.csr_array,
    vocabulary: Sequence[str],
    labels: Sequence[str],
) -> pd.DataFrame:
    """One row per keyword: its training documents and its labels."""
    documents = sparse.csc_array(counts).count_nonzero(axis=0)
    rows = [
        {
            "word": vocabulary[word],
            "documents": int(documents[word]),
            "labels": ", ".join(labels[label] for label in keywords[[word]].indices),
        }
        for word in np.flatnonzero(np.diff(keywords.indptr)).tolist()
    ]
    table = pd.DataFrame(rows, columns=["word", "documents", "labels"])
    return table.sort_values(["documents", "word"], ascending=[False, True], ignore_index=True)


def _sample(rows: np.ndarray, limit: int | None, seed: int) -> np.ndarray:
    if limit is None or len(rows) <= limit:
        return rows
    return np.sort(np.random.default_rng(seed).choice(rows, limit, replace=False))


def _dropped_pairs(
    texts: Sequence[str],
    before: np.ndarray,
    deletions: Deletions,
    score_texts: ScoreTexts,
    min_drop: float,
) -> np.ndarray:
    """Pairs of word and label whose probability dropped by more than ``min_drop``, not unique."""
    pairs = [np.empty((0, 2), dtype=np.int64)]
    for part, after in score_deletions(texts, deletions, score_texts):
        row, label = np.nonzero(before[part.document] - after > min_drop)
        pairs.append(np.column_stack([part.word[row], label]))
    return np.concatenate(pairs)
