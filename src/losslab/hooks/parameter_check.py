"""Parameters are checked before anything runs."""

import click
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl

from losslab.parameters import complete


class ParameterCheck:
    """Checks every parameter and adds the defaults of the losses.

    Kedro itself ignores a misspelt key, and checks types only in the pipelines that run.
    """

    @hook_impl(tryfirst=True)
    def after_context_created(self, context: KedroContext) -> None:
        """Replace the parameters by the complete ones, or stop with one line."""
        try:
            context.config_loader["parameters"] = complete(context.config_loader["parameters"])
        except ValueError as error:
            raise click.ClickException(str(error)) from None
