"""Keywords for people: the strongest words of each label, and what moved a document."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from scipy import sparse


def tabulate_keywords(
    relevance: sparse.csr_array,
    vocabulary: Sequence[str],
    labels: Sequence[str],
    frequencies: Sequence[int],
    *,
    top: int = 12,
) -> pd.DataFrame:
    """One row per label, most frequent first: its ``top`` words by relevance, strongest first.

    ``relevance`` is words x labels. ``strongest`` is the relevance of the first word.
    """
    columns = sparse.csc_array(relevance)
    rows = []
    for index, label in enumerate(labels):
        part = slice(columns.indptr[index], columns.indptr[index + 1])
        words, weights = columns.indices[part], columns.data[part]
        best = np.lexsort((words, -weights))[:top]
        rows.append(
            {
                "label": label,
                "documents": int(frequencies[index]),
                "keywords": ", ".join(vocabulary[word] for word in words[best]),
                "strongest": round(float(weights[best[0]]), 3) if best.size else 0.0,
                "words": len(words),
            }
        )
    table = pd.DataFrame(rows)
    return table.sort_values(["documents", "label"], ascending=[False, True], ignore_index=True)


def word_contributions(
    document: sparse.csr_array, words: sparse.csr_array, label: int
) -> dict[int, float]:
    """What each word of a document (one row, documents x words) adds to its relevance for a label.

    >>> document = sparse.csr_array([[2.0, 0.0, 1.0]])
    >>> words = sparse.csr_array([[0.5], [1.0], [3.0]])
    >>> word_contributions(document, words, 0)
    {0: 1.0, 2: 3.0}
    """
    weights = words[document.indices][:, [label]].toarray().ravel()
    pairs = zip(document.indices.tolist(), (document.data * weights).tolist(), strict=True)
    return {word: share for word, share in pairs if share > 0}
