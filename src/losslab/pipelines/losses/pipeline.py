"""The template every loss is an instance of: train - score - decide - evaluate."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

from kedro.pipeline import Node, Pipeline

from losslab.losses import LOSSES
from losslab.parameters import loss_options, namespace
from losslab.pipelines.losses import nodes

SHARED = {"features", "targets", "documents", "label_space", "label_statistics"}
GIVEN = {"groups": "label_groups", "mask": "mask", "soft_targets": "soft_targets"}
"""What some losses need besides, by the word of ``Loss.needs``: the dataset that holds it."""
COMMON = {"label_groups"}
"""Those of them that are the same for every loss; the others lie in the loss's own namespace."""
PARAMETERS = {
    "params:recipe",
    "params:recipes",
    "params:threshold",
    "params:task",
    "params:seed",
    "params:seeds",
}
CONDITIONS = (
    "params:recipe",
    "params:recipes",
    "params:dataset",
    "params:task",
    "params:corpus",
    "params:min_label_frequency",
    "params:split",
    "params:unbalance",
    "params:threshold",
    "params:frequency_groups",
)
"""What must be the same for losses that are compared, besides the data."""


def create_pipeline(loss: str) -> Pipeline:
    """The pipeline of one loss, in a namespace of its own."""
    given = {need: GIVEN[need] for need in LOSSES[loss].needs if need in GIVEN}
    options = f"params:{namespace(loss)}"
    return Pipeline(
        [
            _train(loss, given, options),
            _score(loss, given, options),
            _decide(loss),
            _evaluate(options),
        ],
        namespace=namespace(loss),
        inputs=SHARED | {"data_fingerprint"} | COMMON & set(given.values()),
        parameters={*PARAMETERS, *CONDITIONS, "params:report", options},
        tags=namespace(loss),
    )


def _train(loss: str, given: dict[str, str], options: str) -> Node:
    inputs = [*SHARED, "failures", *PARAMETERS]
    named = {name.removeprefix("params:"): name for name in sorted(inputs)}
    return Node(
        for_loss(loss, nodes.train),
        {**named, "options": options, **given},
        ["model", "history"],
        name="train",
    )


def _score(loss: str, given: dict[str, str], options: str) -> Node:
    inputs = ["model", "features", "documents", "label_statistics"]
    chosen = ["params:recipe", "params:recipes", "params:task"]
    named = {name.removeprefix("params:"): name for name in [*inputs, *chosen]}
    groups = {name: given[name] for name in ("groups",) if name in given}
    return Node(
        for_loss(loss, nodes.score), {**named, "options": options, **groups}, "scores", name="score"
    )


def _decide(loss: str) -> Node:
    return Node(
        for_loss(loss, nodes.decide),
        ["scores", "targets", "documents", "params:threshold", "params:task"],
        "thresholds",
        name="decide",
    )


def _evaluate(options: str) -> Node:
    data = ["scores", "thresholds", "history", "targets", "documents", "label_statistics"]
    inputs = [*data, "data_fingerprint", "params:report", *CONDITIONS]
    return Node(
        nodes.evaluate,
        {"options": options, **{name.removeprefix("params:"): name for name in inputs}},
        ["metrics", "resamples"],
        name="evaluate",
    )


def for_loss(loss: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """``function`` with its first argument given and ``options`` typed by the loss's own model.

    Kedro reads a parameter's type from the node's annotations, which ``functools.partial`` loses.
    """

    @wraps(function)
    def bound(*arguments: Any, **named: Any) -> Any:
        return function(loss, *arguments, **named)

    del bound.__wrapped__
    first, *others = signature(function).parameters.values()
    bound.__signature__ = signature(function).replace(parameters=others)
    bound.__annotations__ = {**function.__annotations__, "options": loss_options(loss)}
    del bound.__annotations__[first.name]
    return bound
