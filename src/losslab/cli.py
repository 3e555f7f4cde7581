"""The project's own commands: ``kedro run`` that explains mistakes, cross-validation, fetching."""

import os
import sys
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import click
from kedro.framework.cli.project import run as kedro_run
from kedro.framework.project import pipelines as registry
from kedro.framework.project import settings
from kedro.io import DatasetError
from kedro.pipeline import Pipeline
from kedro.utils import find_kedro_project

from losslab.data.download.fetch import Ways
from losslab.data.download.fetch import fetch as fetch_raw_files
from losslab.data.download.raw_folder import overview
from losslab.data.download.sources import SOURCES
from losslab.errors import (
    CorpusError,
    EncoderError,
    FetchError,
    IncomparableError,
    NonFiniteLossError,
    SupervisionError,
)
from losslab.losses import LOSSES
from losslab.parameters import unknown

RUNNERS = ("SequentialRunner", "kedro.runner.SequentialRunner")
"""Trainings seed one global generator, so that two at a time in one process would mix their draws."""
PACKAGES = {"sklearn": "scikit-learn", "PIL": "pillow", "yaml": "pyyaml", "git": "gitpython"}
"""Packages whose name is not that of their module."""
EXPLAINED = (
    DatasetError,
    CorpusError,
    EncoderError,
    IncomparableError,
    NonFiniteLossError,
    SupervisionError,
)
"""Errors whose message says all a user needs; anything else is ours and keeps its traceback."""


@click.group(name="losslab")
def cli() -> None:
    """Commands of this project."""


@cli.command(
    params=kedro_run.params, help=kedro_run.help, context_settings=kedro_run.context_settings
)
def run(**options: Any) -> Any:
    """Kedro's run, with its names checked first and the default that fits the task."""
    _check_names(options)
    _fit_task(options)
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


@cli.command(
    params=[*kedro_run.params, click.Option(["--folds"], type=click.IntRange(2), default=4)],
    context_settings=kedro_run.context_settings,
)
def cross_validate(folds: int, **options: Any) -> None:
    """Run as often as there are folds, four by default, and compare losses over them.

    Takes the options of kedro run. The test split stays; the rest is cut into parts, each of which
    is validation once. Ends with pipeline across, which tells mean, spread and significance.
    """
    given = options.pop("params") or {}
    for fold in range(1, folds + 1):
        click.echo(f"fold {fold} of {folds}")
        split = {**given.get("split", {}), "folds": folds, "fold": fold}
        run.callback(**options, params={**given, "split": split})
    run.callback(**{**options, "pipeline": None, "pipelines": ["across"]}, params=given)


@cli.command()
@click.argument("datasets", nargs=-1)
@click.option("--list", "listing", is_flag=True, help="Show every dataset and whether it is there.")
@click.option("--force", is_flag=True, help="Fetch again what is there.")
def fetch(datasets: tuple[str, ...], listing: bool, force: bool) -> None:
    """Put the raw files of DATASETS into data/01_raw.

    They come from their publishers, or from LOSSLAB_MIRROR, a folder or address of
    <dataset>.tar.xz archives. Where a licence forbids it, the steps to take are printed.
    """
    project = find_kedro_project(Path.cwd()) or Path.cwd()
    raw = Path(os.path.relpath(project / "data" / "01_raw"))
    _check("dataset", datasets, SOURCES)
    if listing:
        _print_table(overview(raw))
        return
    if not datasets:
        raise click.UsageError("name one or more datasets; kedro fetch --list shows them")
    done = [_fetched(name, raw, force) for name in datasets]  # each, whatever befell the others
    if not all(done):
        raise click.exceptions.Exit(1)


def _fetched(dataset: str, raw: Path, force: bool) -> bool:
    """Fetch a dataset and tell what became of it."""
    ways = Ways(mirror=os.environ.get("LOSSLAB_MIRROR"), progress=sys.stderr.isatty())
    try:
        folder = fetch_raw_files(dataset, raw, ways, force=force)
    except FetchError as error:
        click.echo(f"Error: {error}", err=True)
        return False
    click.echo(f"{dataset}: {folder or SOURCES[dataset].ready}")
    return True


def _print_table(rows: list[dict[str, str]]) -> None:
    widths = {key: max(len(row[key]) for row in [*rows, {key: key}]) for key in rows[0]}
    for row in [{key: key for key in widths}, *rows]:
        click.echo("  ".join(row[key].ljust(width) for key, width in widths.items()).rstrip())


def _fit_task(options: dict[str, Any]) -> None:
    """Choose the default pipeline of the task, and refuse losses that do not fit it."""
    task = _task(options)
    chosen = list(filter(None, [options["pipeline"], *options["pipelines"]]))
    if not chosen and task == "single":
        options["pipelines"] = ["single_label"]
    for name in chosen:
        loss = name.removesuffix("_loss")
        if loss in LOSSES and task not in LOSSES[loss].tasks:
            raise click.ClickException(
                f"{name} fits {' and '.join(LOSSES[loss].tasks)}-label tasks, "
                f"this corpus is {task}-label (parameter 'task')"
            )


def _task(options: dict[str, Any]) -> str:
    """The parameter ``task`` as the run will see it."""
    project = find_kedro_project(Path.cwd()) or Path.cwd()
    loader = settings.CONFIG_LOADER_CLASS(
        options["conf_source"] or str(project / settings.CONF_SOURCE),
        env=options["env"] or os.environ.get("KEDRO_ENV"),
        runtime_params=options["params"],
        **settings.CONFIG_LOADER_ARGS,
    )
    task: str = loader["parameters"]["task"]
    return task


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
