"""The project's own commands: ``kedro run`` in the words of the field, cross-validation, fetching."""

import os
import sys
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

import click
import yaml
from kedro.framework.cli.project import run as kedro_run
from kedro.framework.project import settings
from kedro.io import DatasetError
from kedro.io.core import VersionNotFoundError
from kedro.pipeline import Pipeline
from kedro.utils import find_kedro_project

from losslab.data.download.fetch import FetchOptions
from losslab.data.download.fetch import fetch as fetch_raw_files
from losslab.data.download.raw_folder import overview
from losslab.data.download.sources import SOURCES
from losslab.errors import FetchError, LosslabError
from losslab.losses import LOSSES
from losslab.parameters import did_you_mean

PACKAGES = {"sklearn": "scikit-learn", "PIL": "pillow", "yaml": "pyyaml", "git": "gitpython"}
"""Packages whose name is not that of their module."""
SUGAR = {"dataset": "dataset", "recipe": "recipe", "losses": "losses", "seeds": "num_seeds"}
"""Options of ours, and the parameters they set."""
FIXED = {"runner": "SequentialRunner", "is_async": False, "runner_params": {}}
"""Options of Kedro's that are not offered: trainings seed one global generator."""
NOTHING_SELECTED: dict[str, Any] = {
    "pipeline": None,
    **dict.fromkeys(("tags", "node_names", "from_nodes", "to_nodes", "namespaces"), ()),
    **dict.fromkeys(("from_inputs", "to_outputs"), ()),
}
"""The options that select a part of a pipeline, left out."""

kedro_run.hidden = True  # `run` below takes its place


@click.group(name="losslab")
def cli() -> None:
    """Commands of this project."""


def _project() -> Path:
    return find_kedro_project(Path.cwd()) or Path.cwd()


def _dataset_names() -> list[str]:
    return sorted(path.stem for path in (_project() / "conf/datasets").glob("*.yml"))


def _recipe_names() -> list[str]:
    file = _project() / "conf/base/parameters_training.yml"
    return list(yaml.safe_load(file.read_text())["recipes"]) if file.is_file() else []


def _split_names(context: click.Context, option: click.Parameter, value: str | None) -> Any:
    return [name.strip() for name in value.split(",") if name.strip()] if value else None


def _words(text: str, choices: Iterable[str]) -> str:
    return f"{text}: {', '.join(choices)}."


OPTIONS: list[click.Parameter] = [
    click.Option(["--dataset"], help=_words("A dataset (conf/datasets)", _dataset_names())),
    click.Option(["--recipe"], help=_words("A model and its budget", _recipe_names())),
    click.Option(
        ["--losses"],
        callback=_split_names,
        help=_words("Train and report these, comma-separated", LOSSES),
    ),
    click.Option(
        ["--seeds"], type=click.IntRange(1), help="Train every loss with so many seeds: 1, 2, ..."
    ),
    *(option for option in kedro_run.params if option.name not in FIXED),
]


@cli.command(params=OPTIONS, context_settings=kedro_run.context_settings)
def run(**options: Any) -> Any:
    """Train losses and compare them: every loss and a report, or what the options choose.

    \b
    kedro run --losses=bce,db,zlpr --seeds=3
    kedro run --dataset=reuters --recipe=minilm --pipelines=db_loss
    kedro run --dataset=own --params=corpus.file=my.csv,corpus.text=text,corpus.labels=labels
    """
    return _explain_errors(lambda: _run(options))


def _run(options: dict[str, Any]) -> Any:
    chosen = {SUGAR[name]: options.pop(name, None) for name in SUGAR}
    given = {name: value for name, value in chosen.items() if value is not None}
    options["params"] = {**(options["params"] or {}), **given}
    if options["pipeline"] and not options["pipelines"]:  # Kedro deprecates it with a warning
        options |= {"pipeline": None, "pipelines": [options["pipeline"]]}
    _resolve_names(options)
    return kedro_run.callback(**options, **FIXED)  # type: ignore[misc]


def _explain_errors(action: Callable[[], Any]) -> Any:
    """A user's mistake is one line; anything else is ours and keeps its traceback."""
    try:
        return action()
    except VersionNotFoundError as error:
        dataset = str(error).partition(":")[0]
        raise click.ClickException(
            f"no {dataset} was saved so far: run the pipeline that makes it, or report on fewer --losses"
        ) from error
    except (LosslabError, DatasetError) as error:
        raise click.ClickException(str(error)) from error
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module == "losslab":
            raise
        advice = f"; install it: pip install {PACKAGES.get(module, module)}" if module else ""
        raise click.ClickException(f"{error}{advice}") from error


@cli.command(
    params=[*OPTIONS, click.Option(["--folds"], type=click.IntRange(2), default=4)],
    context_settings=kedro_run.context_settings,
)
def cross_validate(folds: int, **options: Any) -> None:
    """K-fold cross-validation: train every fold, compare losses by paired t-tests.

    Takes the options of kedro run. The test split stays; the rest is cut into folds, each of which
    is validation once. Ends with the pipeline meta_analysis.
    """
    given = options.pop("params") or {}

    def run_folds() -> None:
        for fold in range(1, folds + 1):
            click.echo(f"fold {fold} of {folds}")
            split = {**given.get("split", {}), "folds": folds, "fold": fold}
            _run({**options, "params": {**given, "split": split}})
        last = {**options, **NOTHING_SELECTED, "pipelines": ["meta_analysis"]}
        _run({**last, "params": given})

    _explain_errors(run_folds)


@cli.command()
@click.argument("datasets", nargs=-1)
@click.option("--list", "listing", is_flag=True, help="Show every dataset and whether it is there.")
@click.option("--force", is_flag=True, help="Fetch again what is there.")
def fetch(datasets: tuple[str, ...], listing: bool, force: bool) -> None:
    """Put the raw files of DATASETS into data/01_raw.

    They come from their publishers, or from LOSSLAB_MIRROR, a folder or address of
    <dataset>.tar.xz archives. Where a licence forbids it, the steps to take are printed.
    """
    raw = Path(os.path.relpath(_project() / "data" / "01_raw"))
    _check("dataset", datasets, SOURCES)
    if listing:
        _print_table(overview(raw))
        return
    if not datasets:
        raise click.UsageError("name one or more datasets; kedro fetch --list shows them")
    done = [_fetch_one(name, raw, force) for name in datasets]  # each, whatever befell the others
    if not all(done):
        raise click.exceptions.Exit(1)


def _fetch_one(dataset: str, raw: Path, force: bool) -> bool:
    """Fetch a dataset, print where it is, and say whether it worked."""
    options = FetchOptions(mirror=os.environ.get("LOSSLAB_MIRROR"), progress=sys.stderr.isatty())
    try:
        folder = fetch_raw_files(dataset, raw, options, force=force)
    except FetchError as error:
        click.echo(f"Error: {error}", err=True)
        return False
    click.echo(f"{dataset}: {folder or SOURCES[dataset].ready}")
    return True


def _print_table(rows: list[dict[str, str]]) -> None:
    widths = {key: max(len(row[key]) for row in [*rows, {key: key}]) for key in rows[0]}
    for row in [{key: key for key in widths}, *rows]:
        click.echo("  ".join(row[key].ljust(width) for key, width in widths.items()).rstrip())


def _resolve_names(options: dict[str, Any]) -> None:
    """Stop at a name that nothing bears; Kedro would ignore it or answer with a traceback.

    Nodes and namespaces may be named by the end of their name: ``db_loss.train``.
    """
    from losslab.pipeline_registry import create_registry

    parameters = _parameters(options)
    task = parameters["task"]
    registry = create_registry(task, parameters["losses"])
    chosen = options["pipelines"] or ["__default__"]
    _check("pipeline", chosen, registry)
    _check_losses(chosen, task, parameters["losses"])
    pipeline = sum((registry[name] for name in chosen), Pipeline([]))
    nodes = pipeline.nodes
    spaces = {part for node in nodes for part in _namespaces(node.namespace or "")}
    names = {node.name for node in nodes}
    for option in ("node_names", "from_nodes", "to_nodes"):
        options[option] = [_full_name("node", name, names) for name in options[option]]
    options["namespaces"] = [
        _full_name("namespace", name, spaces) for name in options["namespaces"]
    ]
    _check("tag", options["tags"], {tag for node in nodes for tag in node.tags})
    _check("dataset", [*options["from_inputs"], *options["to_outputs"]], pipeline.datasets())


def _namespaces(name: str) -> list[str]:
    """A namespace and those around it: ``a.b`` and ``a`` of ``a.b``."""
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts) + 1)] if name else []


def _full_name(kind: str, name: str, known: Collection[str]) -> str:
    """The full name that ``name`` stands for: itself, or the only one that ends with it.

    >>> _full_name("node", "db_loss.train", ["modelling.db_loss.train", "modelling.cb_loss.train"])
    'modelling.db_loss.train'
    """
    if not name or name in known:
        return name
    ends = sorted(full for full in known if full.endswith(f".{name}"))
    if len(ends) > 1:
        shown = ", ".join(ends[:3])
        raise click.ClickException(f"'{name}' is the end of {len(ends)} {kind}s, such as {shown}")
    if not ends:
        depth = name.count(".") + 1
        tails = {".".join(full.split(".")[-depth:]) for full in known}
        raise click.ClickException(did_you_mean(kind, name, tails))
    return ends[0]


def _check_losses(pipelines: Iterable[str], task: str, losses: Collection[str] | None) -> None:
    """Stop at a loss's pipeline that does not fit the task or is not among ``--losses``."""
    for name in pipelines:
        loss = LOSSES.get(name.removesuffix("_loss"))
        if loss is not None and task not in loss.tasks:
            raise click.ClickException(
                f"{name} fits {' and '.join(loss.tasks)}-label tasks, "
                f"this dataset is {task}-label (parameter 'task')"
            )
        if loss is not None and losses and loss.name not in losses:
            raise click.ClickException(
                f"--pipelines={name} is not among --losses={','.join(losses)}: leave one of them out"
            )


def _parameters(options: dict[str, Any]) -> dict[str, Any]:
    """The parameters as the run will see them."""
    loader = settings.CONFIG_LOADER_CLASS(
        options["conf_source"] or str(_project() / settings.CONF_SOURCE),
        env=options["env"] or os.environ.get("KEDRO_ENV"),
        runtime_params=options["params"],
        **settings.CONFIG_LOADER_ARGS,
    )
    parameters: dict[str, Any] = loader["parameters"]
    return parameters


def _check(kind: str, names: Iterable[str | None], known: Collection[str]) -> None:
    for name in names:
        if name and name not in known:
            raise click.ClickException(did_you_mean(kind, name, known))
