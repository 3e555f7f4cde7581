"""What happens around a run: parameters are checked, results are mirrored to MLflow, a table is printed."""

import click
from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl

from losslab.parameters import complete


class ParameterCheck:
    """Checks every parameter before anything runs and adds the defaults of the losses."""

    @hook_impl(tryfirst=True)
    def after_context_created(self, context: KedroContext) -> None:
        """Replace the parameters by the complete ones, or stop with one line."""
        try:
            context.config_loader["parameters"] = complete(context.config_loader["parameters"])
        except ValueError as error:
            raise click.ClickException(str(error)) from None
