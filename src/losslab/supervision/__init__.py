"""Supervision from labels and words: statistics, keywords, soft labels, label groups."""

from losslab.supervision.deletions import list_deletions, score_deletions
from losslab.supervision.element_keywords import (
    ElementKeywords,
    element_groups,
    find_element_keywords,
    select_documents,
    tabulate_element_keywords,
)
from losslab.supervision.keywords import (
    mean_length,
    tabulate_keywords,
    tfidf_document_relevance,
    tfidf_label_relevance,
    word_contributions,
    word_document_relevance,
    word_label_relevance,
)
from losslab.supervision.label_groups import (
    complete_groups,
    group_by_coarse_class,
    group_by_communities,
    group_by_polarity,
    group_by_prefix,
    group_membership,
    tabulate_groups,
)
from losslab.supervision.label_smoothing import (
    classic_soft_labels,
    distilled_soft_labels,
    document_label_relevance,
    from_relevance,
    keyword_soft_labels,
    mix_soft_targets,
    smooth_targets,
    tfidf_soft_labels,
)
from losslab.supervision.soft_labels import SoftLabels, load_soft_labels, save_soft_labels
from losslab.supervision.statistics import (
    GROUPS,
    cooccurrence,
    describe_labels,
    frequency_groups,
    group_indices,
    rebalancing_mu,
    tabulate_labels,
)
from losslab.supervision.word_counts import count_words, find_words, segment_texts

__all__ = [
    "GROUPS",
    "ElementKeywords",
    "SoftLabels",
    "classic_soft_labels",
    "complete_groups",
    "cooccurrence",
    "count_words",
    "describe_labels",
    "distilled_soft_labels",
    "document_label_relevance",
    "element_groups",
    "find_element_keywords",
    "find_words",
    "frequency_groups",
    "from_relevance",
    "group_by_coarse_class",
    "group_by_communities",
    "group_by_polarity",
    "group_by_prefix",
    "group_indices",
    "group_membership",
    "keyword_soft_labels",
    "list_deletions",
    "load_soft_labels",
    "mean_length",
    "mix_soft_targets",
    "rebalancing_mu",
    "save_soft_labels",
    "score_deletions",
    "segment_texts",
    "select_documents",
    "smooth_targets",
    "tabulate_element_keywords",
    "tabulate_groups",
    "tabulate_keywords",
    "tabulate_labels",
    "tfidf_document_relevance",
    "tfidf_label_relevance",
    "tfidf_soft_labels",
    "word_contributions",
    "word_document_relevance",
    "word_label_relevance",
]
