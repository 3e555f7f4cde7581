"""The project's own commands: ``kedro run`` that answers a user's mistake with one line."""

from collections.abc import Collection, Iterable
from typing import Any

import click
from kedro.framework.cli.project import run as kedro_run
from kedro.framework.project import pipelines as registry
from kedro.io import DatasetError
from kedro.pipeline import Pipeline

from losslab.corpora import CorpusError
from losslab.models.errors import EncoderError
from losslab.parameters import unknown
from losslab.targets import TargetsError
from losslab.training.errors import NonFiniteLossError

RUNNERS = ("SequentialRunner", "kedro.runner.SequentialRunner")
"""Trainings seed one global generator, so that two at a time in one process would mix their draws."""
PACKAGES = {"sklearn": "scikit-learn", "PIL": "pillow", "yaml": "pyyaml", "git": "gitpython"}
"""Packages whose name is not that of their module."""
EXPLAINED = (DatasetError, CorpusError, EncoderError, NonFiniteLossError, TargetsError)
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
        module = (error.name or "").partition(".")[0]
        if module == "losslab":
            raise
        advice = f"; install it: pip install {PACKAGES.get(module, module)}" if module else ""
        raise click.ClickException(f"{error}{advice}") from error


def _check_names(options: dict[str, Any]) -> None:
    """Stop at a name that nothing bears; Kedro would ignore it or answer with a traceback."""
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


def _check(kind: str, names: Iterable[str | None], known: Collection[str]) -> None:
    for name in names:
        if name and name not in known:
            raise click.ClickException(unknown(kind, name, known))
