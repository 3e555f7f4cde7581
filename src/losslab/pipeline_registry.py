"""Every pipeline by name, written out: what ``kedro run --pipeline`` accepts."""

from kedro.pipeline import Pipeline

from losslab.parameters import TASKS, TRAINABLE, fitting, namespace
from losslab.pipelines import across, losses, prepare, report, targets


def register_pipelines() -> dict[str, Pipeline]:
    """The registry; each ``<loss>_loss`` holds its whole upstream and runs by itself.

    A registry cannot know the data, so there are two defaults: ``__default__`` for documents with
    several labels, ``single_label`` for those with one; ``kedro run`` takes the one that fits.
    """
    upstream = prepare.create_pipeline() + targets.create_pipeline()
    one = {name: _with_sources(name) for name in TRAINABLE}
    every = {task: sum((one[name] for name in fitting(task)), upstream) for task in TASKS}
    reports = {task: report.create_pipeline(fitting(task)) for task in TASKS}
    return {
        "prepare": prepare.create_pipeline(),
        "targets": sum((source() for source in targets.FROM_TEXTS.values()), upstream),
        **{namespace(name): upstream + pipeline for name, pipeline in one.items()},
        "all_losses": every["multi"],
        "report": reports["multi"],
        "across": across.create_pipeline(),
        "paper_tables": report.create_paper_tables(),
        "single_label_report": reports["single"],
        "single_label": every["single"] + reports["single"],
        "__default__": every["multi"] + reports["multi"],
    }


def _with_sources(loss: str) -> Pipeline:
    """A loss, and what makes its masks, groups or soft targets where it needs such."""
    pipeline = losses.create_pipeline(loss)
    return targets.SOURCES[loss]() + pipeline if loss in targets.SOURCES else pipeline
