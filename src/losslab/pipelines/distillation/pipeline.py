"""a trained baseline - its logits - soft labels of ls_distill, element keywords of mask_element."""

from kedro.pipeline import Node, Pipeline

from losslab.parameters import namespace
from losslab.pipelines.distillation import nodes
from losslab.pipelines.supervision import count_words

TEACHERS = {
    "ls_distill": {"multi": "bce", "single": "ce"},
    "mask_element": {"multi": "bce", "single": "bce"},  # MaskLoss, A.3
}
"""By loss that learns from a trained baseline, and task: the baseline."""


def create_pipeline(loss: str, task: str) -> Pipeline:
    """What a trained baseline teaches ``loss``, one of ``TEACHERS``."""
    teacher = namespace(TEACHERS[loss][task])
    if loss == "ls_distill":
        return _stage([_score(teacher), _distil(teacher)])
    return count_words() + _stage([_score(teacher), _search(teacher), *_element_nodes()])


def _score(teacher: str) -> Node:
    return Node(
        nodes.score_training_documents,
        {
            "loss": f"params:{teacher}",
            "recipe": "params:recipe",
            "model": f"{teacher}_model",
            "features": "features",
            "splits": "splits",
            "label_statistics": "label_statistics",
            "task": "params:task",
        },
        f"{teacher}_training_logits",
        name=f"score_training_documents_by_{teacher.removesuffix('_loss')}",
    )


def _distil(teacher: str) -> Node:
    return Node(
        nodes.distil_labels,
        f"{teacher}_training_logits",
        "ls_distill_loss_soft_targets",
        name="distil_labels",
    )


def _search(teacher: str) -> Node:
    return Node(
        nodes.search_element_keywords,
        {
            "loss": f"params:{teacher}",
            "recipe": "params:recipe",
            "model": f"{teacher}_model",
            "training_logits": f"{teacher}_training_logits",
            "features": "features",
            "tokenizer": "tokenizer",
            "splits": "splits",
            "label_matrix": "label_matrix",
            "vocabulary": "vocabulary",
            "label_statistics": "label_statistics",
            "task": "params:task",
            "keywords": "params:keywords",
            "elements": "params:element_keywords",
        },
        ["element_keywords", "element_search"],
        name="search_element_keywords",
    )


def _element_nodes() -> list[Node]:
    return [
        Node(
            nodes.group_by_elements,
            ["word_counts", "element_keywords", "splits"],
            "mask_element_loss_mask",
            name="group_by_elements",
        ),
        Node(
            nodes.list_element_keywords,
            ["element_keywords", "word_counts", "vocabulary", "label_space"],
            "element_keyword_table",
            name="list_element_keywords",
        ),
    ]


def _stage(steps: list[Node]) -> Pipeline:
    return Pipeline(
        steps,
        namespace="modelling.distillation",
        prefix_datasets_with_namespace=False,
        tags="distillation",
    )
