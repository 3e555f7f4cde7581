"""The template every loss is an instance of: train - score - decide - evaluate."""

from kedro.pipeline import Node, Pipeline

from losslab.parameters import namespace
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
                nodes.make_train(loss),
                {
                    **{name: name for name in sorted(SHARED)},
                    **{name.removeprefix("params:"): name for name in sorted(PARAMETERS)},
                    "options": options,
                },
                ["model", "history"],
                name="train",
            ),
            Node(
                nodes.score,
                ["model", "features", "targets", "documents", "params:recipe", "params:recipes"],
                "scores",
                name="score",
            ),
            Node(
                nodes.make_decide(loss),
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
