"""Label statistics, keywords, soft labels and label groups, from the training split alone."""

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.data import SPLITS
from losslab.data.split import split_rows
from losslab.parameters import (
    FrequencyGroupSettings,
    KeywordSettings,
    LabelGroupSettings,
    SoftLabelSettings,
)
from losslab.supervision import (
    SoftLabels,
    complete_groups,
    cooccurrence,
    count_words,
    describe_labels,
    frequency_groups,
    from_relevance,
    group_by_coarse_class,
    group_by_communities,
    group_by_polarity,
    group_by_prefix,
    group_membership,
    mean_length,
    mix_soft_targets,
    smooth_targets,
    tabulate_groups,
    tabulate_keywords,
    tabulate_labels,
    tfidf_document_relevance,
    tfidf_label_relevance,
    word_document_relevance,
    word_label_relevance,
)


def compute_label_statistics(
    label_matrix: sparse.csr_array,
    label_space: list[str],
    splits: pd.DataFrame,
    settings: FrequencyGroupSettings,
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Frequencies, mu and frequency groups of the training labels; a table with a row per label."""
    parts = {name: label_matrix[split_rows(splits, name)] for name in SPLITS}
    statistics = describe_labels(parts["train"])
    groups = frequency_groups(statistics["frequencies"], **settings.model_dump())
    return {**statistics, "groups": groups}, tabulate_labels(label_space, groups, **parts)


def count_cooccurrence(label_matrix: sparse.csr_array, splits: pd.DataFrame) -> sparse.csr_array:
    """Labels x labels: training documents that carry both."""
    return cooccurrence(label_matrix[split_rows(splits, "train")])


def count_training_words(
    splits: pd.DataFrame, settings: KeywordSettings
) -> tuple[sparse.csr_array, list[str]]:
    """Training documents x words, and the vocabulary."""
    texts = splits["text"].iloc[split_rows(splits, "train")].tolist()
    return count_words(texts, **settings.tokenization)


def relate_words_to_labels(
    word_counts: sparse.csr_array,
    label_matrix: sparse.csr_array,
    splits: pd.DataFrame,
    settings: KeywordSettings,
) -> sparse.csr_array:
    """WLR: words x labels."""
    train = label_matrix[split_rows(splits, "train")]
    return word_label_relevance(word_counts, train, k1=settings.k1, b=settings.b, dtype=np.float32)


def relate_words_to_documents(
    word_counts: sparse.csr_array, settings: KeywordSettings
) -> sparse.csr_array:
    """WIR: training documents x words."""
    return word_document_relevance(word_counts, k2=settings.k2, dtype=np.float32)


def weigh_words_by_tfidf(
    word_counts: sparse.csr_array,
    label_matrix: sparse.csr_array,
    splits: pd.DataFrame,
    settings: SoftLabelSettings,
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Both relevances by TF-IDF: words x labels, training documents x words."""
    train = label_matrix[split_rows(splits, "train")]
    return (
        tfidf_label_relevance(word_counts, train, tf=settings.tf, dtype=np.float32),
        tfidf_document_relevance(word_counts, tf=settings.tf, dtype=np.float32),
    )


def list_keywords(
    relevance: sparse.csr_array,
    vocabulary: list[str],
    label_space: list[str],
    label_matrix: sparse.csr_array,
    splits: pd.DataFrame,
) -> pd.DataFrame:
    """The most relevant words of each label."""
    frequencies = label_matrix[split_rows(splits, "train")].sum(axis=0)
    return tabulate_keywords(relevance, vocabulary, label_space, frequencies)


def smooth_by_words(
    by_document: sparse.csr_array,
    by_label: sparse.csr_array,
    word_counts: sparse.csr_array,
    splits: pd.DataFrame,
) -> SoftLabels:
    """Soft labels of KWLS and TF-IDF: the softmax of document-label relevance."""
    length, rows = mean_length(word_counts), split_rows(splits, "train")
    return from_relevance(by_document, by_label, length, rows=rows)


def smooth_uniformly(
    label_matrix: sparse.csr_array, splits: pd.DataFrame, settings: SoftLabelSettings
) -> SoftLabels:
    """Classic label smoothing: a share spread over all labels."""
    rows = split_rows(splits, "train")
    return smooth_targets(label_matrix[rows], eps=settings.eps, rows=rows)


def smooth_zlpr_targets(
    label_matrix: sparse.csr_array,
    splits: pd.DataFrame,
    settings: SoftLabelSettings,
    towards: SoftLabels | None = None,
) -> Any:
    """Soft targets of ``soft_zlpr``: ``(1 - eps) y + eps d``, d uniform or the soft labels given."""
    rows = split_rows(splits, "train")
    return mix_soft_targets(label_matrix[rows], eps=settings.eps, distribution=towards, rows=rows)


def group_labels(
    label_cooccurrence: sparse.csr_array,
    label_statistics: dict[str, Any],
    label_space: list[str],
    settings: LabelGroupSettings,
) -> tuple[sparse.csr_array, pd.DataFrame]:
    """Labels x groups, and a table of the groups."""
    groups = complete_groups(
        _find_groups(label_space, label_cooccurrence, settings),
        label_space,
        f"label_groups.by: {settings.by}",
    )
    frequencies = dict(zip(label_space, label_statistics["frequencies"], strict=True))
    return group_membership(groups, label_space), tabulate_groups(groups, frequencies)


def _find_groups(
    labels: list[str], cooccurrences: sparse.csr_array, settings: LabelGroupSettings
) -> dict[str, list[str]]:
    match settings.by:
        case "prefix":
            return group_by_prefix(labels, separator=settings.separator)
        case "coarse":
            return group_by_coarse_class(labels, separator=settings.separator)
        case "polarity":
            return group_by_polarity(labels)
        case "communities":
            options = settings.model_dump(include={"seed", "resolution"})
            return group_by_communities(labels, cooccurrences, **options)
        case _:
            return settings.groups or {}
