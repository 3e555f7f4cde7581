"""label matrix, words - label statistics, keywords, soft labels, label groups."""

from kedro.pipeline import Node, Pipeline

from losslab.pipelines.supervision import nodes


def create_pipeline() -> Pipeline:
    """What every loss and metric needs of the labels: statistics, co-occurrence, groups."""
    return _stage(
        [
            Node(
                nodes.compute_label_statistics,
                ["label_matrix", "label_space", "splits", "params:frequency_groups"],
                ["label_statistics", "label_table"],
                name="compute_label_statistics",
            ),
            Node(
                nodes.count_cooccurrence,
                ["label_matrix", "splits"],
                "label_cooccurrence",
                name="count_cooccurrence",
            ),
            Node(
                nodes.group_labels,
                ["label_cooccurrence", "label_statistics", "label_space", "params:label_groups"],
                ["label_groups", "label_group_table"],
                name="group_labels",
            ),
        ]
    )


def count_words() -> Pipeline:
    """splits - word counts."""
    return _stage(
        [
            Node(
                nodes.count_training_words,
                ["splits", "params:keywords"],
                ["word_counts", "vocabulary"],
                name="count_training_words",
            )
        ]
    )


def keyword_soft_labels() -> Pipeline:
    """word counts - BM25 relevance of words - keywords, soft labels of kwls."""
    return count_words() + _stage(
        [
            Node(
                nodes.relate_words_to_labels,
                ["word_counts", "label_matrix", "splits", "params:keywords"],
                "word_label_relevance",
                name="relate_words_to_labels",
            ),
            Node(
                nodes.relate_words_to_documents,
                ["word_counts", "params:keywords"],
                "word_document_relevance",
                name="relate_words_to_documents",
            ),
            Node(
                nodes.list_keywords,
                ["word_label_relevance", "vocabulary", "label_space", "label_matrix", "splits"],
                "keyword_table",
                name="list_keywords",
            ),
            Node(
                nodes.smooth_by_words,
                ["word_document_relevance", "word_label_relevance", "word_counts", "splits"],
                "kwls_loss_soft_targets",
                name="smooth_by_keywords",
            ),
        ]
    )


def tfidf_soft_labels() -> Pipeline:
    """word counts - TF-IDF relevance of words - soft labels of ls_tfidf."""
    return count_words() + _stage(
        [
            Node(
                nodes.weigh_words_by_tfidf,
                ["word_counts", "label_matrix", "splits", "params:soft_labels"],
                ["tfidf_label_relevance", "tfidf_document_relevance"],
                name="weigh_words_by_tfidf",
            ),
            Node(
                nodes.smooth_by_words,
                ["tfidf_document_relevance", "tfidf_label_relevance", "word_counts", "splits"],
                "ls_tfidf_loss_soft_targets",
                name="smooth_by_tfidf",
            ),
        ]
    )


def classic_soft_labels() -> Pipeline:
    """label matrix - soft labels of ls_classic."""
    return _stage(
        [
            Node(
                nodes.smooth_uniformly,
                ["label_matrix", "splits", "params:soft_labels"],
                "ls_classic_loss_soft_targets",
                name="smooth_uniformly",
            )
        ]
    )


def soft_zlpr_targets(**towards: str) -> Pipeline:
    """label matrix - soft targets of soft_zlpr; ``towards``: soft labels they are smoothed towards."""
    return _stage(
        [
            Node(
                nodes.smooth_zlpr_targets,
                {
                    "label_matrix": "label_matrix",
                    "splits": "splits",
                    "settings": "params:soft_labels",
                    **towards,
                },
                "soft_zlpr_loss_soft_targets",
                name="smooth_zlpr_targets",
            )
        ]
    )


def keyword_zlpr_targets() -> Pipeline:
    """soft labels of kwls - soft targets of soft_zlpr."""
    return keyword_soft_labels() + soft_zlpr_targets(towards="kwls_loss_soft_targets")


SOFT_TARGETS = {
    "kwls": keyword_soft_labels,
    "ls_tfidf": tfidf_soft_labels,
    "ls_classic": classic_soft_labels,
    "soft_zlpr": soft_zlpr_targets,
}
"""By loss: the pipeline that makes its soft targets of labels and words."""
SOFT_ZLPR_TARGETS = {"classic": soft_zlpr_targets, "keywords": keyword_zlpr_targets}
"""Those of soft_zlpr, by the parameter ``soft_labels.soft_zlpr``."""


def _stage(steps: list[Node]) -> Pipeline:
    return Pipeline(
        steps, namespace="supervision", prefix_datasets_with_namespace=False, tags="supervision"
    )
