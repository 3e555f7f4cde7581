"""What some losses learn from besides labels: keywords, soft labels, groups of labels."""

from collections.abc import Callable

from kedro.pipeline import Node, Pipeline

from losslab.parameters import namespace
from losslab.pipelines.losses import create_pipeline as create_loss
from losslab.pipelines.losses.pipeline import for_loss
from losslab.pipelines.targets import baseline_nodes, group_nodes, keyword_nodes

BASELINE = "bce"
"""The loss whose model teaches."""
MODEL = {
    "options": f"params:{namespace(BASELINE)}",
    **{name: f"params:{name}" for name in ("recipe", "recipes", "task")},
    **{name: name for name in ("features", "documents", "label_statistics")},
    "model": f"{namespace(BASELINE)}.model",
}
TRAINED_ON = ["targets", "documents", "label_space"]


def count_words() -> Pipeline:
    """documents - word counts."""
    node = Node(
        keyword_nodes.count_training_words,
        ["documents", "params:keywords"],
        ["word_counts", "vocabulary"],
        name="count_training_words",
    )
    return Pipeline([node], tags="targets")


def find_keywords() -> Pipeline:
    """word counts - relevance of words to labels and to documents - keyword table."""
    return count_words() + Pipeline(
        [
            Node(
                keyword_nodes.relate_words_to_labels,
                ["word_counts", *TRAINED_ON, "params:keywords"],
                "word_label_relevance",
                name="relate_words_to_labels",
            ),
            Node(
                keyword_nodes.relate_words_to_documents,
                ["word_counts", "params:keywords"],
                "word_document_relevance",
                name="relate_words_to_documents",
            ),
            Node(
                keyword_nodes.list_keywords,
                ["word_label_relevance", "vocabulary", "label_space", "targets", "documents"],
                "keyword_table",
                name="list_keywords",
            ),
        ],
        tags="targets",
    )


def weigh_by_tfidf() -> Pipeline:
    """word counts - relevance of words by TF-IDF."""
    node = Node(
        keyword_nodes.weigh_words_by_tfidf,
        ["word_counts", *TRAINED_ON, "params:soft_labels"],
        ["tfidf_label_relevance", "tfidf_document_relevance"],
        name="weigh_words_by_tfidf",
    )
    return count_words() + Pipeline([node], tags="targets")


def smooth_by_keywords() -> Pipeline:
    """Keywords - soft labels of kwls, and a page to look at them."""
    page = Node(
        keyword_nodes.inspect_soft_labels,
        [
            f"{namespace('kwls')}.soft_targets",
            *["documents", "targets", "label_space", "vocabulary", "keyword_table"],
            *["params:keywords", "params:dataset"],
        ],
        "soft_labels_page",
        name="inspect_soft_labels",
    )
    relevance = ["word_document_relevance", "word_label_relevance"]
    return find_keywords() + _smooth_by_words("kwls", relevance) + Pipeline([page], tags="targets")


def smooth_by_tfidf() -> Pipeline:
    """TF-IDF - soft labels of ls_tfidf."""
    relevance = ["tfidf_document_relevance", "tfidf_label_relevance"]
    return weigh_by_tfidf() + _smooth_by_words("ls_tfidf", relevance)


def _smooth_by_words(loss: str, relevance: list[str]) -> Pipeline:
    inputs = [*relevance, "word_counts", "documents"]
    node = Node(keyword_nodes.smooth_by_words, inputs, "soft_targets", name="smooth_labels")
    return Pipeline([node], namespace=namespace(loss), inputs=set(inputs), tags=namespace(loss))


def smooth_classically() -> Pipeline:
    """targets - soft labels of ls_classic."""
    node = Node(
        keyword_nodes.smooth_classically,
        ["targets", "documents", "params:soft_labels"],
        "soft_targets",
        name="smooth_labels",
    )
    return Pipeline(
        [node],
        namespace=namespace("ls_classic"),
        inputs={"targets", "documents"},
        parameters={"params:soft_labels"},
        tags=namespace("ls_classic"),
    )


def group_labels() -> Pipeline:
    """targets - groups of labels that are alike."""
    node = Node(
        group_nodes.group_labels,
        [*TRAINED_ON, "params:label_groups"],
        ["label_groups", "label_group_table"],
        name="group_labels",
    )
    return Pipeline([node], tags="targets")


def train_baseline() -> Pipeline:
    """features - the baseline's model - its logits for the training documents."""
    train = create_loss(BASELINE).to_outputs(MODEL["model"])
    node = Node(
        for_loss(BASELINE, baseline_nodes.score_training_documents),
        MODEL,
        f"{namespace(BASELINE)}.training_logits",
        name="score_training_documents",
    )
    return train + Pipeline([node], tags="targets")


def distil() -> Pipeline:
    """The baseline's logits - soft labels of ls_distill."""
    node = Node(
        baseline_nodes.distil_labels,
        f"{namespace(BASELINE)}.training_logits",
        f"{namespace('ls_distill')}.soft_targets",
        name="distil_labels",
    )
    return train_baseline() + Pipeline([node], tags=["targets", namespace("ls_distill")])


def mask_by_elements() -> Pipeline:
    """The baseline's model, word counts - words that labels depend on - mask of mask_element."""
    search = Node(
        for_loss(BASELINE, baseline_nodes.search_element_keywords),
        {
            **MODEL,
            "training_logits": f"{namespace(BASELINE)}.training_logits",
            **{name: name for name in ("tokenizer", "targets", "vocabulary")},
            "keywords": "params:keywords",
            "elements": "params:element_keywords",
        },
        ["element_keywords", "element_search"],
        name="search_element_keywords",
    )
    group = Node(
        baseline_nodes.group_by_elements,
        ["word_counts", "element_keywords", "documents"],
        f"{namespace('mask_element')}.mask",
        name="group_by_elements",
    )
    table = Node(
        baseline_nodes.list_element_keywords,
        ["element_keywords", "word_counts", "vocabulary", "label_space"],
        "element_keyword_table",
        name="list_element_keywords",
    )
    tags = ["targets", namespace("mask_element")]
    return count_words() + train_baseline() + Pipeline([search, group, table], tags=tags)


FROM_TEXTS: dict[str, Callable[[], Pipeline]] = {
    "kwls": smooth_by_keywords,
    "ls_tfidf": smooth_by_tfidf,
    "ls_classic": smooth_classically,
    "mask_label": group_labels,
}
FROM_BASELINE: dict[str, Callable[[], Pipeline]] = {
    "ls_distill": distil,
    "mask_element": mask_by_elements,
}
SOURCES = {**FROM_TEXTS, **FROM_BASELINE}
"""By loss: what makes its input, from documents and targets on, or from a trained baseline."""
