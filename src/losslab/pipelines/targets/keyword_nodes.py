"""What words say: counts, relevance, keywords, soft labels; of the training split only."""

from functools import partial

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.parameters import KeywordSettings, SoftLabelSettings
from losslab.supervision import (
    SoftLabels,
    check_labels_have_words,
    count_words,
    find_words,
    from_relevance,
    mean_length,
    smooth_targets,
    tabulate_keywords,
    tfidf_document_relevance,
    tfidf_label_relevance,
    word_document_relevance,
    word_label_relevance,
)

READING = {"lowercase", "token_pattern", "segmenter"}
"""The options that say how texts become words."""
SURPRISING, RANDOM = 16, 20


def training_rows(documents: pd.DataFrame) -> np.ndarray:
    """Rows of the training split, in ascending order."""
    return np.flatnonzero(documents["split"] == "train")


def count_training_words(
    documents: pd.DataFrame, options: KeywordSettings
) -> tuple[sparse.csr_array, list[str]]:
    """Training documents x words, and the words."""
    texts = documents["text"].iloc[training_rows(documents)].tolist()
    return count_words(texts, **options.model_dump(include=READING))


def relate_words_to_labels(
    counts: sparse.csr_array,
    targets: sparse.csr_array,
    documents: pd.DataFrame,
    label_space: list[str],
    options: KeywordSettings,
) -> sparse.csr_array:
    """WLR: words x labels."""
    carried = targets[training_rows(documents)]
    check_labels_have_words(counts, carried, label_space)
    return word_label_relevance(counts, carried, k1=options.k1, b=options.b, dtype=np.float32)


def relate_words_to_documents(
    counts: sparse.csr_array, options: KeywordSettings
) -> sparse.csr_array:
    """WIR: training documents x words."""
    return word_document_relevance(counts, k2=options.k2, dtype=np.float32)


def weigh_words_by_tfidf(
    counts: sparse.csr_array,
    targets: sparse.csr_array,
    documents: pd.DataFrame,
    label_space: list[str],
    options: SoftLabelSettings,
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """The same two by TF-IDF."""
    carried = targets[training_rows(documents)]
    check_labels_have_words(counts, carried, label_space)
    return (
        tfidf_label_relevance(counts, carried, tf=options.tf, dtype=np.float32),
        tfidf_document_relevance(counts, tf=options.tf, dtype=np.float32),
    )


def list_keywords(
    relevance: sparse.csr_array,
    vocabulary: list[str],
    label_space: list[str],
    targets: sparse.csr_array,
    documents: pd.DataFrame,
) -> pd.DataFrame:
    """The strongest words of each label."""
    frequencies = targets[training_rows(documents)].sum(axis=0)
    return tabulate_keywords(relevance, vocabulary, label_space, frequencies)


def smooth_by_words(
    by_document: sparse.csr_array,
    by_label: sparse.csr_array,
    counts: sparse.csr_array,
    documents: pd.DataFrame,
) -> SoftLabels:
    """Soft labels of KWLS and TF-IDF, from relevance to documents and to labels."""
    length, rows = mean_length(counts), training_rows(documents)
    return from_relevance(by_document, by_label, length, rows=rows)


def smooth_classically(
    targets: sparse.csr_array, documents: pd.DataFrame, options: SoftLabelSettings
) -> SoftLabels:
    """Soft labels that spread a share over all labels."""
    rows = training_rows(documents)
    return smooth_targets(targets[rows], eps=options.eps, rows=rows)


def inspect_soft_labels(
    soft: SoftLabels,
    documents: pd.DataFrame,
    targets: sparse.csr_array,
    label_space: list[str],
    vocabulary: list[str],
    keyword_table: pd.DataFrame,
    options: KeywordSettings,
    dataset: str,
) -> str:
    """A page of documents with their labels, hard and soft, and the words that moved them."""
    from losslab.reporting.soft_labels import (
        choose_documents,
        describe_document,
        render_soft_labels,
    )

    find = partial(find_words, **options.model_dump(include=READING))
    column = {word: index for index, word in enumerate(vocabulary)}
    surprising, drawn = choose_documents(soft, targets, surprising=SURPRISING, random=RANDOM)
    titles = ("Where words speak for labels the document does not carry", "Drawn at random")
    sections = {}
    for title, rows in zip(titles, (surprising, drawn), strict=True):
        sections[title] = [
            {
                "id": documents["id"].iloc[row],
                **describe_document(
                    row, documents["text"].iloc[row], soft, targets, label_space, column, find
                ),
            }
            for row in rows
        ]
    return render_soft_labels(
        sections, keyword_table, dataset=dataset, labels=len(label_space), documents=len(soft)
    )
