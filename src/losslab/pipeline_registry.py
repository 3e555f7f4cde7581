"""Every pipeline by name, written out: what ``kedro run --pipelines`` accepts."""

from collections.abc import Sequence
from functools import cache

from kedro.pipeline import Pipeline

from losslab.baselines import BASELINES
from losslab.data.corpus import Modality
from losslab.losses import LOSSES
from losslab.parameters import baselines_for_task, losses_for_task, namespace
from losslab.pipelines import (
    cross_validation,
    data,
    distillation,
    evaluation,
    features,
    meta_analysis,
    predict,
    reporting,
    retrieval,
    search,
    supervision,
    sweep,
    training,
)


def register_pipelines() -> dict[str, Pipeline]:
    """The registry as Kedro asks for it, before a dataset is known; see ``create_registry``."""
    return create_registry()


def create_registry(
    task: str = "multi",
    losses: Sequence[str] | None = None,
    baselines: Sequence[str] | None = None,
    *,
    soft_zlpr: str = "classic",
    modality: Modality = "text",
    predicting: str = "bce",
    explain: bool = False,
) -> dict[str, Pipeline]:
    """The pipelines of a task, with a report on ``losses`` and ``baselines``, by default all that fit.

    Each ``<loss>_loss`` and ``<baseline>_baseline`` holds its whole upstream and runs by itself.

    Args:
        soft_zlpr: what the targets of soft_zlpr are smoothed towards (``soft_labels.soft_zlpr``).
        modality: what documents are. Of images there is no pipeline that reads words.
        predicting: the loss or baseline of ``predict``; ``explain``: with a page of explanations.
    """
    beside = baselines_for_task(task, modality) if baselines is None else baselines
    chosen = tuple(losses or losses_for_task(task, modality))
    if task == "retrieval":
        return _retrieval(chosen)
    registry = dict(_registry(task, chosen, tuple(beside), soft_zlpr, modality))
    if modality == "text":
        registry["predict"] = predict.create_pipeline(predicting, explain=explain)
        registry["retrieval"] = retrieval.create_pipeline(losses_for_task("retrieval"))
    return registry


def _retrieval(chosen: Sequence[str]) -> dict[str, Pipeline]:
    """The pipelines of a question-answer corpus."""
    every, upstream = retrieval.create_pipeline(chosen), retrieval.create_data()
    return {
        "data": upstream,
        "features": upstream + retrieval.create_features(),
        "retrieval": every,
        "__default__": every,
    }


@cache
def _registry(
    task: str, chosen: tuple[str, ...], beside: tuple[str, ...], soft_zlpr: str, modality: Modality
) -> dict[str, Pipeline]:
    words = modality == "text"
    upstream = _upstream(modality)
    fitting = [name for name, loss in LOSSES.items() if words or not loss.reads_words]
    by_baseline = {name: _baseline(name) for name in BASELINES if words}
    baselines = sum((by_baseline[name] for name in beside), Pipeline([]))
    soft_targets = {
        name: make() for name, make in supervision.SOFT_TARGETS.items() if name in fitting
    }
    soft_targets["soft_zlpr"] = supervision.SOFT_ZLPR_TARGETS[soft_zlpr]()
    by_loss = {
        name: upstream + _loss(name, task) + soft_targets.get(name, Pipeline([]))
        for name in fitting
    }
    every = sum((by_loss[name] for name in chosen), upstream)
    report = reporting.create_pipeline([*chosen, *beside], modality)
    tfidf = features.create_tfidf() if words else Pipeline([])
    return {
        "data": data.create_pipeline(),
        "features": data.create_pipeline() + features.create_pipeline(modality) + tfidf,
        "supervision": sum(soft_targets.values(), upstream),
        "training": _up_to("training", every),
        "distillation": sum(
            (_taught(name, task) for name in distillation.TEACHERS if name in fitting), upstream
        ),
        "evaluation": _up_to("evaluation", every),
        **{namespace(name): pipeline for name, pipeline in by_loss.items()},
        **{namespace(name): pipeline for name, pipeline in by_baseline.items()},
        "baselines": baselines,
        "modelling": every,
        "reporting": report,
        "report": report,
        "cross_validation": cross_validation.create_pipeline(),
        "sweep": sweep.create_pipeline(),
        "search": _searches(chosen, every),
        "search_report": search.create_report(),
        "meta_analysis": meta_analysis.create_pipeline(),
        "paper_tables": reporting.create_paper_tables(),
        "__default__": every + baselines + report,
    }


def _upstream(modality: Modality) -> Pipeline:
    """What every loss needs: documents, features, label statistics."""
    read = data.create_pipeline() + features.create_pipeline(modality)
    return read + supervision.create_pipeline()


def _loss(loss: str, task: str) -> Pipeline:
    """A loss from its supervision to its metrics."""
    own = training.create_pipeline(loss) + evaluation.create_pipeline(loss)
    own += evaluation.record_conditions()
    if loss in distillation.TEACHERS:
        own += _taught(loss, task)
    return own + reporting.create_soft_label_page() if loss == "kwls" else own


def _up_to(stage: str, pipeline: Pipeline) -> Pipeline:
    """The nodes of a stage, of every loss, with all they need."""
    return pipeline.to_nodes(*(node.name for node in pipeline.nodes if stage in node.tags))


def _searches(losses: Sequence[str], modelling: Pipeline) -> Pipeline:
    """The searches of losses with all that their trainings are prepared from."""
    searches = search.create_pipeline(losses)
    return (modelling + searches).to_nodes(*(node.name for node in searches.nodes))


def _baseline(baseline: str) -> Pipeline:
    """A baseline with its whole upstream: words in place of the recipe's features."""
    upstream = data.create_pipeline() + features.create_tfidf() + supervision.create_pipeline()
    own = training.create_baseline(baseline) + evaluation.create_pipeline(baseline)
    return upstream + own + evaluation.record_conditions()


def _taught(loss: str, task: str) -> Pipeline:
    """The baseline's training, and what it teaches ``loss``."""
    teacher = distillation.TEACHERS[loss][task]
    trained = training.create_pipeline(teacher).to_outputs(f"{namespace(teacher)}_model")
    return trained + distillation.create_pipeline(loss, task)
