"""scores - decision rules - predictions - metrics, errors, score curves - results of all losses."""

from collections.abc import Sequence

from kedro.pipeline import Node, Pipeline

from losslab.baselines import METHODS
from losslab.errors import GATHERS
from losslab.losses import LOSSES
from losslab.parameters import namespace
from losslab.pipelines.evaluation import nodes


def record_conditions() -> Pipeline:
    """parameters - conditions, the same for every loss."""
    return _group(
        "modelling",
        [
            Node(
                nodes.record_conditions,
                {
                    "corpus_notes": "corpus_notes",
                    "dataset": "params:dataset",
                    "recipe": "params:recipe",
                    "task": "params:task",
                    "corpus": "params:corpus",
                    "min_label_frequency": "params:min_label_frequency",
                    "split": "params:split",
                    "undersample": "params:undersample",
                    "frequency_groups": "params:frequency_groups",
                    "select_by": "params:select_by",
                    "threshold_grid": "params:threshold_grid",
                    "primary_rule": "params:primary_rule",
                },
                "conditions",
                name="record_conditions",
            )
        ],
        tags=["evaluation"],
    )


def create_pipeline(loss: str) -> Pipeline:
    """Evaluate one loss or baseline."""
    name = namespace(loss)
    return _group(
        f"modelling.{METHODS[loss].family}.{name}",
        [
            *_prediction_nodes(name),
            *_metric_nodes(name),
            *_posterior_nodes(loss),
            *_doubt_nodes(loss),
        ],
        tags=[name, "evaluation"],
    )


def _prediction_nodes(name: str) -> list[Node]:
    return [
        Node(
            nodes.fit_rules,
            {
                "loss": f"params:{name}",
                "scores": f"{name}_scores",
                "label_matrix": "label_matrix",
                "splits": "splits",
                "grid": "params:threshold_grid",
                "task": "params:task",
                "primary_rule": "params:primary_rule",
                "evaluated_rules": "params:evaluated_rules",
                "label_statistics": "label_statistics",
            },
            f"{name}_decision_rules",
            name="fit_rules",
        ),
        Node(
            nodes.predict_labels,
            [f"{name}_scores", f"{name}_decision_rules"],
            f"{name}_predictions",
            name="predict_labels",
        ),
    ]


def _evaluate(name: str) -> Node:
    return Node(
        nodes.evaluate,
        {
            "loss": f"params:{name}",
            "scores": f"{name}_scores",
            "scores_origin": f"{name}_scores_origin",
            "predictions": f"{name}_predictions",
            "decision_rules": f"{name}_decision_rules",
            "history": f"{name}_history",
            "label_matrix": "label_matrix",
            "splits": "splits",
            "label_statistics": "label_statistics",
            "label_space": "label_space",
            "conditions": "conditions",
            "bootstrap": "params:bootstrap",
        },
        [f"{name}_metrics", f"{name}_resamples"],
        name="evaluate",
    )


def _metric_nodes(name: str) -> list[Node]:
    return [
        _evaluate(name),
        Node(
            nodes.find_errors,
            {
                "predictions": f"{name}_predictions",
                "label_matrix": "label_matrix",
                "splits": "splits",
                "label_space": "label_space",
                "label_statistics": "label_statistics",
                "label_groups": "label_groups",
                "cardinality_limits": "params:cardinality_limits",
            },
            f"{name}_errors",
            name="find_errors",
        ),
        Node(
            nodes.draw_score_curves,
            {
                "loss": f"params:{name}",
                "scores": f"{name}_scores",
                "predictions": f"{name}_predictions",
                "label_matrix": "label_matrix",
                "splits": "splits",
            },
            f"{name}_score_curves",
            name="draw_score_curves",
        ),
    ]


def _posterior_nodes(loss: str) -> list[Node]:
    if not _samples(loss):
        return []
    name = namespace(loss)
    return [
        Node(
            nodes.summarise_posterior,
            {
                "loss": f"params:{name}",
                "recipe": "params:recipe",
                "model": f"{name}_model",
                "label_statistics": "label_statistics",
                "label_space": "label_space",
                "task": "params:task",
                "bootstrap": "params:bootstrap",
            },
            f"{name}_posterior",
            name="summarise_posterior",
        )
    ]


def _doubt_nodes(loss: str) -> list[Node]:
    if not _has_probabilities(loss):
        return []
    name = namespace(loss)
    return [
        Node(
            nodes.doubt_gold_labels,
            [f"{name}_scores", "label_matrix", "splits"],
            f"{name}_label_doubts",
            name="doubt_gold_labels",
        )
    ]


def _has_probabilities(loss: str) -> bool:
    """Whether a loss trains probabilities; those of baselines are not asked for."""
    return loss in LOSSES and LOSSES[loss].decision == "probability"


def _samples(loss: str) -> bool:
    """Whether a loss samples parameters, and so has a posterior."""
    return loss in LOSSES and bool(LOSSES[loss].sampled)


def collect_results(losses: Sequence[str]) -> Pipeline:
    """metrics and all else of each loss - by family - results."""
    families = {METHODS[loss].family: None for loss in losses}
    return sum(
        (_collect(loss) for loss in losses),
        sum((_gather_family(family, losses) for family in families), _gather(list(families))),
    )


def _collect(loss: str) -> Pipeline:
    name = namespace(loss)
    kinds = ["metrics", "resamples", "history", "score_curves", "errors", "predictions"]
    kinds += ["posterior"] if _samples(loss) else []
    kinds += ["label_doubts"] if _has_probabilities(loss) else []
    node = Node(
        nodes.collect_results,
        {**{kind: f"{name}_{kind}" for kind in kinds}, **_mask_inputs(loss)},
        f"{name}_results",
        name="collect_results",
    )
    return _group(f"modelling.{METHODS[loss].family}.{name}", [node], tags=["report"])


def _mask_inputs(loss: str) -> dict[str, str]:
    """What a loss masks labels by, if it does: the report tells a mask that is empty."""
    needs = LOSSES[loss].needs if loss in LOSSES else ()
    masks = {"mask": f"{namespace(loss)}_mask", "label_matrix": "label_matrix"}
    groups = {"groups": "label_groups"} if "groups" in needs else {}
    return {**(masks if "mask" in needs else {}), **groups}


def _gather_family(family: str, losses: Sequence[str]) -> Pipeline:
    members = [loss for loss in losses if METHODS[loss].family == family]
    node = Node(
        nodes.gather_family,
        {loss: f"{namespace(loss)}_results" for loss in members},
        f"{family}_results",
        name="gather_family",
    )
    return _group(f"modelling.{family}", [node], tags=["report", GATHERS])


def _gather(families: Sequence[str]) -> Pipeline:
    node = Node(
        nodes.gather_results,
        {family: f"{family}_results" for family in families},
        "results",
        name="gather_results",
    )
    return _group("modelling", [node], tags=["report", GATHERS])


def _group(name: str, steps: list[Node], tags: Sequence[str] = ()) -> Pipeline:
    return Pipeline(steps, namespace=name, prefix_datasets_with_namespace=False, tags=set(tags))
