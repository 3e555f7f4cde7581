"""What is made of labels and words: statistics, keywords, soft labels, label groups."""

from losslab.supervision.elements import (
    ElementKeywords,
    element_groups,
    find_element_keywords,
    select_documents,
    tabulate_element_keywords,
)
from losslab.supervision.groups import (
    complete_groups,
    group_by_coarse_class,
    group_by_communities,
    group_by_polarity,
    group_by_prefix,
    group_membership,
    read_groups,
    tabulate_groups,
)
from losslab.supervision.keyword_table import tabulate_keywords, word_contributions
from losslab.supervision.keywords import (
    check_labels_have_words,
    mean_length,
    tfidf_document_relevance,
    tfidf_label_relevance,
    word_document_relevance,
    word_label_relevance,
)
from losslab.supervision.soft_label_files import load_soft_labels, save_soft_labels
from losslab.supervision.soft_labels import (
    SoftLabels,
    classic_soft_labels,
    distilled_soft_labels,
    document_label_relevance,
    from_relevance,
    keyword_soft_labels,
    smooth_targets,
    tfidf_soft_labels,
)
from losslab.supervision.statistics import (
    GROUPS,
    cooccurrence,
    describe_labels,
    frequency_groups,
    group_indices,
    rebalancing_mu,
    tabulate_labels,
)
from losslab.supervision.words import count_words, find_words

__all__ = [
    "GROUPS",
    "ElementKeywords",
    "SoftLabels",
    "check_labels_have_words",
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
    "load_soft_labels",
    "mean_length",
    "read_groups",
    "rebalancing_mu",
    "save_soft_labels",
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
