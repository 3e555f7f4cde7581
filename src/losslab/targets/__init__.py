"""What losses learn from: label space, targets, statistics, keywords, soft labels, groups."""

from losslab.targets.elements import (
    ElementKeywords,
    element_groups,
    find_element_keywords,
    select_documents,
    tabulate_element_keywords,
)
from losslab.targets.errors import TargetsError
from losslab.targets.groups import (
    complete_groups,
    group_by_coarse_class,
    group_by_communities,
    group_by_polarity,
    group_by_prefix,
    group_membership,
    read_groups,
    tabulate_groups,
)
from losslab.targets.keyword_table import tabulate_keywords, word_contributions
from losslab.targets.keywords import (
    check_labels_have_words,
    mean_length,
    tfidf_document_relevance,
    tfidf_label_relevance,
    word_document_relevance,
    word_label_relevance,
)
from losslab.targets.labels import drop_rare_labels, encode_labels, label_space
from losslab.targets.soft_label_files import load_soft_labels, save_soft_labels
from losslab.targets.soft_labels import (
    SoftLabels,
    classic_soft_labels,
    distilled_soft_labels,
    document_label_relevance,
    from_relevance,
    keyword_soft_labels,
    smooth_targets,
    tfidf_soft_labels,
)
from losslab.targets.statistics import (
    GROUPS,
    cooccurrence,
    describe_labels,
    frequency_groups,
    rebalancing_mu,
    tabulate_labels,
)
from losslab.targets.words import count_words, find_words

__all__ = [
    "GROUPS",
    "ElementKeywords",
    "SoftLabels",
    "TargetsError",
    "check_labels_have_words",
    "classic_soft_labels",
    "complete_groups",
    "cooccurrence",
    "count_words",
    "describe_labels",
    "distilled_soft_labels",
    "document_label_relevance",
    "drop_rare_labels",
    "element_groups",
    "encode_labels",
    "find_element_keywords",
    "find_words",
    "frequency_groups",
    "from_relevance",
    "group_by_coarse_class",
    "group_by_communities",
    "group_by_polarity",
    "group_by_prefix",
    "group_membership",
    "keyword_soft_labels",
    "label_space",
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
