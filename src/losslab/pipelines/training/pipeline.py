"""features, supervision - model - scores: the template of every loss, and that of every baseline."""

from kedro.pipeline import Node, Pipeline

from losslab.baselines import BASELINES
from losslab.losses import LOSSES
from losslab.parameters import namespace
from losslab.pipelines.training import nodes

EXTRA_INPUTS = {
    "groups": "label_groups",
    "mask": "{loss}_mask",
    "soft_targets": "{loss}_soft_targets",
}
"""What some losses need besides, by the word of ``needs``: the dataset that holds it."""
BASELINE = "baseline"
"""Tag of nodes that fit and score a baseline."""


def create_pipeline(loss: str) -> Pipeline:
    """Train and score one loss."""
    name, extra = namespace(loss), _extra_inputs(loss)
    groups = {"groups": extra["groups"]} if "groups" in extra else {}
    return Pipeline(
        [_train(loss), _score(name, groups)],
        namespace=f"modelling.{LOSSES[loss].family}.{name}",
        prefix_datasets_with_namespace=False,
        tags=[name, "training"],
    )


def create_baseline(baseline: str) -> Pipeline:
    """Fit and score one baseline; BASELINE marks what is no training of a network."""
    name = namespace(baseline)
    return Pipeline(
        [_fit(name), _score_words(name)],
        namespace=f"modelling.{BASELINES[baseline].family}.{name}",
        prefix_datasets_with_namespace=False,
        tags=[name, BASELINE],
    )


def _fit(name: str) -> Node:
    return Node(
        nodes.fit_baseline,
        {
            "baseline": f"params:{name}",
            "tfidf": "tfidf",
            "label_matrix": "label_matrix",
            "splits": "splits",
            "grid": "params:threshold_grid",
            "select_by": "params:select_by",
            "validation_rule": "params:validation_rule",
            "task": "params:task",
        },
        [f"{name}_model", f"{name}_history"],
        name="fit",
    )


def _score_words(name: str) -> Node:
    return Node(
        nodes.score_words,
        {
            "baseline": f"params:{name}",
            "model": f"{name}_model",
            "tfidf": "tfidf",
            "splits": "splits",
        },
        [f"{name}_scores", f"{name}_scores_origin"],
        name="score",
    )


def training_inputs(loss: str) -> dict[str, str]:
    """What a training of ``loss`` takes, but for the number of seeds."""
    name = namespace(loss)
    return {
        "loss": f"params:{name}",
        "recipe": "params:recipe",
        "features": "features",
        "label_matrix": "label_matrix",
        "splits": "splits",
        "label_space": "label_space",
        "label_statistics": "label_statistics",
        "grid": "params:threshold_grid",
        "select_by": "params:select_by",
        "validation_rule": "params:validation_rule",
        "task": "params:task",
        "seed": "params:seed",
        "checkpoints": "checkpoints",
        **_extra_inputs(loss),
    }


def _extra_inputs(loss: str) -> dict[str, str]:
    needs = (need for need in LOSSES[loss].needs if need in EXTRA_INPUTS)
    return {need: EXTRA_INPUTS[need].format(loss=namespace(loss)) for need in needs}


def _train(loss: str) -> Node:
    return Node(
        nodes.train,
        {**training_inputs(loss), "num_seeds": "params:num_seeds", "failures": "failures"},
        [f"{namespace(loss)}_model", f"{namespace(loss)}_history"],
        name="train",
    )


def _score(name: str, groups: dict[str, str]) -> Node:
    return Node(
        nodes.score,
        {
            "loss": f"params:{name}",
            "recipe": "params:recipe",
            "model": f"{name}_model",
            "features": "features",
            "splits": "splits",
            "label_statistics": "label_statistics",
            "task": "params:task",
            **groups,
        },
        [f"{name}_scores", f"{name}_scores_origin"],
        name="score",
    )
