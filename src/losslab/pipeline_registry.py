"""Every pipeline by name, written out: what ``kedro run --pipeline`` accepts."""

from kedro.pipeline import Pipeline

from losslab.parameters import TRAINABLE, namespace
from losslab.pipelines import losses, prepare, report, targets


def register_pipelines() -> dict[str, Pipeline]:
    """The registry; each ``<loss>_loss`` holds its whole upstream and runs by itself."""
    upstream = prepare.create_pipeline() + targets.create_pipeline()
    single = {namespace(name): losses.create_pipeline(name) for name in TRAINABLE}
    every = sum(single.values(), upstream)
    reporting = report.create_pipeline(TRAINABLE)
    return {
        "prepare": prepare.create_pipeline(),
        "targets": sum((source() for source in targets.SOURCES.values()), upstream),
        **{name: upstream + pipeline for name, pipeline in single.items()},
        "all_losses": every,
        "report": reporting,
        "__default__": every + reporting,
    }
