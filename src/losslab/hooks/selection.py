"""Fits the registry to the run."""

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.framework.project import pipelines

from losslab.pipeline_registry import create_registry


class PipelineSelection:
    """Fits the registry to the run: losses and baselines of its task, a report on the chosen ones.

    What ``soft_zlpr`` is smoothed towards decides on the nodes it needs.
    """

    @hook_impl(tryfirst=True)  # a hook that fails, as the plugin's may, skips those after it
    def after_context_created(self, context: KedroContext) -> None:
        """Replace pipelines before Kedro picks from them; a registry cannot know the parameters."""
        parameters = context.config_loader["parameters"]
        pipelines.update(
            create_registry(
                parameters["task"],
                parameters["losses"],
                parameters["baselines"],
                soft_zlpr=parameters["soft_labels"]["soft_zlpr"],
                predicting=parameters["predict"]["loss"],
                explain=parameters["predict"]["explain"],
            )
        )
