"""The project's own commands: ``kedro run`` that answers a user's mistake with one line."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click
from kedro.framework.cli.project import run as kedro_run
from kedro.framework.project import pipelines as registry
from kedro.io import DatasetError
from kedro.pipeline import Pipeline
from kedro.utils import find_kedro_project

from losslab.corpora import CorpusError
from losslab.training.errors import NonFiniteLossError

RUNNERS = ("SequentialRunner", "ParallelRunner", "ThreadRunner")
EXPLAINED = (DatasetError, CorpusError, NonFiniteLossError)
"""Errors whose message says all a user needs; anything else is ours and keeps its traceback."""


@click.group(name="losslab")
def cli() -> None:
    """Commands of this project."""


@cli.command(
    params=kedro_run.params, help=kedro_run.help, context_settings=kedro_run.context_settings
)
def run(**options: Any) -> Any:
    """Kedro's run, with its names checked first."""
    _check_names(options)
    if options["pipeline"] and not options["pipelines"]:  # Kedro deprecates it with a warning
        options |= {"pipeline": None, "pipelines": [options["pipeline"]]}
    try:
        return kedro_run.callback(**options)
    except EXPLAINED as error:
        raise click.ClickException(str(error)) from error
    except ModuleNotFoundError as error:
        advice = f"; install it: pip install {error.name}" if error.name else ""
        raise click.ClickException(f"{error}{advice}") from error


def _check_names(options: dict[str, Any]) -> None:
    """Stop at a name that nothing bears; Kedro would ignore it or answer with a traceback."""
    if options["env"] and not options["conf_source"]:
        _check("environment", [options["env"]], _environments())
    _check("runner", [options["runner"]], RUNNERS)
    chosen = list(filter(None, [options["pipeline"], *options["pipelines"]])) or ["__default__"]
    _check("pipeline", chosen, set(registry))
    pipeline = sum((registry[name] for name in chosen), Pipeline([]))
    nodes = pipeline.nodes
    selected = [*options["node_names"], *options["from_nodes"], *options["to_nodes"]]
    _check("node", selected, {node.name for node in nodes})
    _check("tag", options["tags"], {tag for node in nodes for tag in node.tags})
    _check("namespace", options["namespaces"], {node.namespace or "" for node in nodes} - {""})
    _check("dataset", [*options["from_inputs"], *options["to_outputs"]], pipeline.datasets())


def _environments() -> set[str]:
    conf = (find_kedro_project(Path.cwd()) or Path.cwd()) / "conf"
    return {folder.name for folder in conf.iterdir() if folder.is_dir()}


def _check(kind: str, names: Iterable[str | None], known: Collection[str]) -> None:
    for name in names:
        if name and name not in known:
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean '{close[0]}'? " if close else ""
            raise click.ClickException(
                f"unknown {kind} '{name}'; {hint}choose from {', '.join(sorted(known))}"
            )
