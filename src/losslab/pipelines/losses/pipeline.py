"""The template every loss is an instance of: train - score - decide - evaluate."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any

from kedro.pipeline import Node, Pipeline

from losslab.parameters import loss_options, namespace
from losslab.pipelines.losses import nodes

SHARED = {"features", "targets", "documents", "label_statistics"}
PARAMETERS = {
    "params:recipe",
    "params:recipes",
    "params:threshold",
    "params:seed",
    "params:seeds",
}


def create_pipeline(loss: str) -> Pipeline:
    """The pipeline of one loss, in a namespace of its own."""
    options = f"params:{namespace(loss)}"
    return Pipeline(
        [
            Node(
                for_loss(loss, nodes.train),
                {
                    **{name: name for name in sorted(SHARED)},
                    **{name.removeprefix("params:"): name for name in sorted(PARAMETERS)},
                    "options": options,
                },
                ["model", "history"],
                name="train",
            ),
            Node(
                for_loss(loss, nodes.score),
                [
                    "model",
                    "features",
                    "documents",
                    "label_statistics",
                    options,
                    "params:recipe",
                    "params:recipes",
                ],
                "scores",
                name="score",
            ),
            Node(
                for_loss(loss, nodes.decide),
                ["scores", "targets", "documents", "params:threshold"],
                "thresholds",
                name="decide",
            ),
            Node(
                nodes.evaluate,
                ["scores", "thresholds", "history", "targets", "documents", "label_statistics"],
                "metrics",
                name="evaluate",
            ),
        ],
        namespace=namespace(loss),
        inputs=SHARED,
        parameters={*PARAMETERS, options},
        tags=namespace(loss),
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
