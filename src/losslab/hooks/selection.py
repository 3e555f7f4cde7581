"""Fits the registry to the run."""

import logging

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.framework.project import pipelines

from losslab.losses import LOSSES
from losslab.pipeline_registry import create_registry

logger = logging.getLogger(__name__)


class PipelineSelection:
    """Fits the registry to the run: losses and baselines of its task, a report on the chosen ones.

    What ``soft_zlpr`` is smoothed towards decides on the nodes it needs, and what documents are, texts
    or images, on those of all.
    """

    @hook_impl(tryfirst=True)  # a hook that fails, as the plugin's may, skips those after it
    def after_context_created(self, context: KedroContext) -> None:
        """Replace pipelines before Kedro picks from them; a registry cannot know the parameters."""
        parameters = context.config_loader["parameters"]
        if parameters["modality"] == "image" and parameters["losses"] is None:
            words = [name for name, loss in LOSSES.items() if loss.reads_words]
            logger.info("left out, since images have no words: %s, baselines", ", ".join(words))
        registry = create_registry(
            parameters["task"],
            parameters["losses"],
            parameters["baselines"],
            soft_zlpr=parameters["soft_labels"]["soft_zlpr"],
            modality=parameters["modality"],
            predicting=parameters["predict"]["loss"],
            explain=parameters["predict"]["explain"],
        )
        for name in set(pipelines) - set(registry):
            del pipelines[name]  # it reads words
        pipelines.update(registry)
