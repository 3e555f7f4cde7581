"""Configuration whose parameters are checked and complete before anything runs."""

from pathlib import Path
from typing import Any

import click
from kedro.config import OmegaConfigLoader
from yaml import YAMLError

from losslab.errors import ParameterError
from losslab.parameters import complete, unknown


class CheckedConfigLoader(OmegaConfigLoader):
    """Kedro's loader; ``["parameters"]`` holds every default and no unknown name.

    Kedro itself ignores a misspelt key, and checks types only in the pipelines that run. Unlike a
    hook, a loader serves every command, Kedro-Viz among them, which runs without hooks.
    """

    def __init__(self, conf_source: str, env: str | None = None, **options: Any) -> None:
        if Path(conf_source).is_dir() and env is not None:
            known = {folder.name for folder in Path(conf_source).iterdir() if folder.is_dir()}
            if env not in known:
                raise click.ClickException(unknown("environment", env, known))
        super().__init__(conf_source, env=env, **options)

    def __getitem__(self, key: str) -> dict[str, Any]:
        """The configuration of a kind; a mistake in it ends the command with one line."""
        try:
            values: dict[str, Any] = super().__getitem__(key)
            return complete(values) if key == "parameters" else values
        except YAMLError as error:
            raise click.ClickException(" ".join(str(error).split())) from error
        except ParameterError as error:
            raise click.ClickException(str(error)) from None
