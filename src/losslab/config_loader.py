"""Configuration whose parameters are checked and complete before anything runs."""

from typing import Any

import click
from kedro.config import OmegaConfigLoader

from losslab.parameters import complete


class CheckedConfigLoader(OmegaConfigLoader):
    """Kedro's loader; ``["parameters"]`` holds every default and no unknown name.

    Kedro itself ignores a misspelt key, and checks types only in the pipelines that run. Unlike a
    hook, a loader serves Kedro-Viz as well, which runs without hooks.
    """

    def __getitem__(self, key: str) -> dict[str, Any]:
        """The configuration of a kind; a wrong parameter ends the command with one line."""
        values: dict[str, Any] = super().__getitem__(key)
        if key != "parameters":
            return values
        try:
            return complete(values)
        except ValueError as error:
            raise click.ClickException(str(error)) from None
