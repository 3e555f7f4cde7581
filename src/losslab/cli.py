"""The project's own commands: ``kedro run`` in the words of the field, sweeps, folds, fetching."""

import logging
import os
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any, cast

import click
import yaml
from kedro.framework.cli.project import run as kedro_run
from kedro.framework.cli.utils import KedroCliError
from kedro.framework.project import settings
from kedro.io import DatasetError
from kedro.io.core import VersionNotFoundError
from kedro.pipeline import Pipeline
from kedro.utils import find_kedro_project

from losslab.baselines import BASELINES, METHODS
from losslab.data.download.fetch import FetchOptions
from losslab.data.download.fetch import fetch as fetch_raw_files
from losslab.data.download.raw_folder import overview
from losslab.data.download.sources import SOURCES
from losslab.data.readers import QUESTION_READERS
from losslab.errors import (
    FailedNodesError,
    FetchError,
    LosslabError,
    NonFiniteLossError,
    TrainingFailedError,
)
from losslab.inference.command import FILE, LABELLING, label_file, split_columns
from losslab.losses import LOSSES
from losslab.parameters import did_you_mean, method_of, namespace
from losslab.parameters.validation import merge_mappings
from losslab.temporary import sweep_parts, sweep_scratch_folders

logger = logging.getLogger(__name__)
PACKAGES = {
    "ray": "'losslab[ray]'",
    "sklearn": "scikit-learn",
    "PIL": "pillow",
    "yaml": "pyyaml",
    "git": "gitpython",
}
"""Packages whose name is not that of their module."""
SUGAR = {name: name for name in ("dataset", "recipe", "losses", "baselines")}
SUGAR |= {"seeds": "num_seeds"}
"""Options of ours, and the parameters they set."""
FIXED: dict[str, Any] = {"is_async": False, "only_missing_outputs": False}
"""Options of Kedro's that are not offered: the runner itself leaves out what is current."""
RUNNERS = ("IncrementalRunner", "RayRunner")
"""Of losslab.runners; Kedro's own know nothing of lineage, failures and seeds."""
SELECTIONS = ("tags", "node_names", "from_nodes", "to_nodes", "from_inputs", "to_outputs")
"""Kedro's options that select a part of a pipeline, named as ``Pipeline.filter`` does."""
IN_PART = {*SELECTIONS, "namespaces", "pipeline", "pipelines", "load_versions"}
"""Options of Kedro's that cross-validation and sweeps refuse: every fold and job is run whole."""
LOSS_FAILURES = (NonFiniteLossError, TrainingFailedError, FailedNodesError)
"""Errors that cost a fold of a loss: cross-validation goes on with the other folds."""

YAML_INDICATOR = re.compile(r"=([*|&!%@`>#][^,]*)")
"""A value of --params that YAML would not take as text."""
PARAMS_FILE = "losslab.params_file"
"""Where a command's ``meta`` holds the content of ``--params-file``."""
RUNS = "data/.runs"
"""Where each run holds a lock, below the project's folder."""

kedro_run.hidden = True  # `run` below takes its place
# Kedro formats the exception being handled, and newer clicks show errors when none is: "NoneType: None"
KedroCliError.show = click.ClickException.show  # type: ignore[method-assign]


@click.group(name="losslab")
def cli() -> None:
    """Commands of this project."""


def _project() -> Path:
    return find_kedro_project(Path.cwd()) or Path.cwd()


def _dataset_names() -> list[str]:
    return sorted(path.stem for path in (_project() / "conf/datasets").glob("*.yml"))


def _recipe_names() -> list[str]:
    """The recipes of conf/base and conf/local."""
    folders = [_project() / "conf" / environment for environment in ("base", "local")]
    files = [file for folder in folders for file in sorted(folder.rglob("parameters*.yml"))]
    return list(dict.fromkeys(name for file in files for name in _recipes_in(file)))


def _recipes_in(file: Path) -> Collection[str]:
    try:
        parameters = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    except yaml.YAMLError:  # a run names the fault, --help works
        return []
    return parameters.get("recipes") or []


def _split_names(context: click.Context, option: click.Parameter, value: str | None) -> Any:
    if value == "none":
        return []
    return [name.strip() for name in value.split(",") if name.strip()] if value else None


def _resolve_runner(context: click.Context, option: click.Parameter, value: str) -> str:
    name = value.removeprefix("losslab.runners.")
    _check("runner", [name], RUNNERS)
    return f"losslab.runners.{name}"


def _words(text: str, choices: Iterable[str]) -> str:
    return f"{text}: {', '.join(choices)}."


def _read_params_file(context: click.Context, option: click.Parameter, value: str | None) -> None:
    """Read parameters from YAML, for ``--params`` to be laid over."""
    if value is None:
        return
    try:
        content = yaml.safe_load(Path(value).read_text(encoding="utf-8")) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise click.ClickException(f"--params-file: {' '.join(str(error).split())}") from None
    if not isinstance(content, Mapping):
        raise click.ClickException(f"--params-file: {value} holds no parameters by name")
    context.meta[PARAMS_FILE] = content


def _with_params_file() -> click.Parameter:
    """Kedro's ``--params``, laid over those of ``--params-file``."""
    option = copy(next(option for option in kedro_run.params if option.name == "params"))
    split: Any = option.callback

    def merge(context: click.Context, param: click.Parameter, value: str) -> dict[str, Any]:
        try:
            given = split(context, param, quote_indicators(value))
        except yaml.YAMLError as error:
            raise click.ClickException(f"--params: {' '.join(str(error).split())}") from None
        return merge_mappings(context.meta.get(PARAMS_FILE, {}), given)

    option.callback = merge
    return option


def quote_indicators(params: str) -> str:
    """Quote values that begin with a character that means something else in YAML.

    >>> quote_indicators("corpus.labels=*,corpus.separator=|,seed=1")
    "corpus.labels='*',corpus.separator='|',seed=1"
    """
    return YAML_INDICATOR.sub(lambda found: "='" + found[1].replace("'", "''") + "'", params)


OPTIONS: list[click.Parameter] = [
    click.Option(["--dataset"], help=_words("A dataset (conf/datasets)", _dataset_names())),
    click.Option(["--recipe"], help=_words("A model and its budget", _recipe_names())),
    click.Option(
        ["--losses"],
        callback=_split_names,
        help=_words("Train and report these, comma-separated", LOSSES),
    ),
    click.Option(
        ["--baselines"],
        callback=_split_names,
        help=_words("Fit and report these, or none", BASELINES),
    ),
    click.Option(
        ["--seeds"],
        type=click.IntRange(1),
        help="Number of trainings per loss, with seeds 1, 2, ...",
    ),
    click.Option(["--fresh"], is_flag=True, help="Compute everything again, current or not."),
    click.Option(
        ["--workers"],
        type=click.IntRange(1),
        help="Losses and seeds that are trained at a time; by default one per core or GPU.",
    ),
    click.Option(["--verbose"], is_flag=True, help="A line for every node and training."),
    click.Option(
        ["--runner"],
        default=RUNNERS[0],
        callback=_resolve_runner,
        help="losslab.runners.RayRunner trains on a Ray cluster (docs/scaling.md).",
    ),
    click.Option(
        ["--params-file"],
        callback=_read_params_file,
        is_eager=True,
        expose_value=False,
        help="Parameters as YAML, such as the best.yml of a search; --params goes before it.",
    ),
    *(option for option in kedro_run.params if option.name not in {*FIXED, "runner", "params"}),
    _with_params_file(),
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
    _sweep_leftovers()
    from losslab.runners import locked

    options = _resolve_options(options)
    level = logging.DEBUG if options.pop("verbose") else None
    given = {name: options.pop(name) for name in ("fresh", "workers")}
    runner_params = {**(options.pop("runner_params") or {}), **given}
    _check_runner_params(options["runner"], runner_params)
    with _log_level(level), locked(_project() / RUNS, str(os.getpid()), "kedro run"):
        return kedro_run.callback(**options, **FIXED, runner_params=runner_params)  # type: ignore[misc]


def _check_runner_params(runner: str, params: Collection[str]) -> None:
    from inspect import signature

    from losslab import runners

    known = signature(getattr(runners, runner.rpartition(".")[2])).parameters
    _check("runner parameter", params, [name for name in known if name != "is_async"])


@contextmanager
def _log_level(level: int | None) -> Iterator[None]:
    """The level of our log lines during a run; None: as configured."""
    lines = logging.getLogger("losslab")
    before = lines.level
    lines.setLevel(before if level is None else level)
    try:
        yield
    finally:
        lines.setLevel(before)


def _resolve_options(options: dict[str, Any]) -> dict[str, Any]:
    """The options in Kedro's own words, every name checked and complete."""
    options = dict(options)
    options["params"] = _with_sugar(options)
    if options["pipeline"] and not options["pipelines"]:  # Kedro deprecates it with a warning
        options |= {"pipeline": None, "pipelines": [options["pipeline"]]}
    _resolve_names(options)
    return options


def _with_sugar(options: dict[str, Any]) -> dict[str, Any]:
    """What ``--params`` and our own options set; the latter are taken from ``options``."""
    chosen = {SUGAR[name]: options.pop(name, None) for name in SUGAR}
    given = {name: value for name, value in chosen.items() if value is not None}
    return {**(options["params"] or {}), **given}


@cli.command(params=OPTIONS, context_settings=kedro_run.context_settings)
def explain(**options: Any) -> None:
    """Tell what kedro run would compute again, and why; takes the same options.

    \b
    db_loss: stale: parameter db_loss.gamma 2.0 -> 1.0
    """
    _explain_errors(lambda: _explain(options))


def _explain(options: dict[str, Any]) -> None:
    from kedro.framework.project import pipelines
    from kedro.framework.session import KedroSession

    from losslab.runners import RunPlan

    options = _resolve_options(options)
    session = KedroSession.create(
        _project(),
        env=options["env"],
        conf_source=options["conf_source"],
        runtime_params=options["params"],
    )
    with session:
        context: Any = session.load_context()
        catalog = context._get_catalog(load_versions=options["load_versions"])
        chosen = [pipelines[name] for name in options["pipelines"] or ["__default__"]]
        pipeline = sum(chosen, Pipeline([])).filter(
            **{name: options[name] or None for name in SELECTIONS},
            node_namespaces=options["namespaces"] or None,
        )
        for group, state in RunPlan(pipeline, catalog, fresh=options["fresh"]).explain().items():
            click.echo(f"{group}: {state}")


def _sweep_leftovers() -> None:
    """Remove what killed processes left: half-written files, scratch folders of trainings."""
    from losslab.runners import find_holders

    find_holders(_project() / "data")
    removed = [*sweep_parts(_project() / "data"), *sweep_scratch_folders()]
    if removed:
        logger.info("removed %d temporary files of killed processes", len(removed))


def _explain_errors(action: Callable[[], Any]) -> Any:
    """A user's mistake is one line; anything else is ours and keeps its traceback."""
    try:
        return action()
    except VersionNotFoundError as error:
        dataset = str(error).partition(":")[0]
        raise click.ClickException(
            f"no {dataset} was saved so far: run the pipeline that makes it, or report on fewer "
            "--losses or --baselines"
        ) from error
    except (LosslabError, DatasetError) as error:
        raise click.ClickException(str(error)) from error
    except MemoryError as error:
        raise click.ClickException(f"memory does not suffice: {error or 'none is left'}") from error
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module == "losslab":
            raise
        advice = f"; install it: pip install {PACKAGES.get(module, module)}" if module else ""
        raise click.ClickException(f"{error}{advice}") from error


def _hidden(option: click.Parameter) -> click.Parameter:
    option = copy(option)
    option.hidden = True  # type: ignore[attr-defined]
    return option


WHOLE_RUNS = [_hidden(option) if option.name in IN_PART else option for option in OPTIONS]
"""Options of commands that run pipelines whole."""


@cli.command(
    params=[
        click.Option(
            ["--folds"], type=click.IntRange(2), default=4, show_default=True, help="Folds."
        ),
        *WHOLE_RUNS,
    ],
    context_settings=kedro_run.context_settings,
)
@click.pass_context
def cross_validate(context: click.Context, /, folds: int, **options: Any) -> None:
    """K-fold cross-validation: train every fold, compare losses by paired t-tests.

    The test split stays; the rest is cut into folds, each of which is validation once. Ends with a
    table and a page of its own; an interrupted one goes on when the command is repeated.

    \b
    kedro cross-validate --losses=bce,db,zlpr --folds=5 --seeds=3
    """
    given = options.pop("params") or {}
    _refuse_parts(context, "fold")
    _refuse_folds(given)

    def run(split: dict[str, int], pipeline: str) -> None:
        params = {**given, "split": {**given.get("split", {}), **split}}
        _run({**options, "params": params, "pipelines": [pipeline]})

    failures = _explain_errors(lambda: _run_folds(context, folds, run))
    _explain_errors(lambda: run({"folds": folds}, "cross_validation"))
    if failures:
        raise click.ClickException("; ".join(failures))


def _run_folds(context: click.Context, folds: int, run: Callable[..., None]) -> list[str]:
    """Train every fold, and say which failed and why."""
    from losslab.hooks import PART, RunPart

    failures = []
    context.meta[PART] = RunPart()  # a fold is not the answer
    for fold in range(1, folds + 1):
        click.echo(f"fold {fold} of {folds}")
        try:
            run({"folds": folds, "fold": fold}, "modelling")
        except LOSS_FAILURES as error:
            failures.append(f"fold {fold}: {error}")
            click.echo(f"Error: {failures[-1]}", err=True)
    context.meta[PART] = None
    return failures


def _refuse_parts(context: click.Context, run: str) -> None:
    """Stop at options that would do the runs of a command in part."""
    for option in context.command.params:
        if option.name in IN_PART and context.params[option.name]:
            raise click.ClickException(
                f"{option.opts[0]} does not go with {context.command.name}, which runs every {run} "
                "whole; choose losses by --losses"
            )


def _refuse_folds(given: dict[str, Any]) -> None:
    """Stop at parameters that choose folds: cross-validation runs each."""
    split = given.get("split", {})
    if not isinstance(split, dict):
        raise click.ClickException(
            f"parameter 'split' has parts, as in split.seed=3; got {split!r}"
        )
    for name in {"folds", "fold"} & set(split):
        raise click.ClickException(
            f"--params=split.{name} does not go with cross-validate, which runs every fold of "
            "--folds; kedro run takes it"
        )


@cli.command(
    params=[
        click.Argument(["name"], required=False),
        click.Option(["--dry-run"], is_flag=True, help="List the jobs, and run none."),
        *WHOLE_RUNS,
    ],
    context_settings=kedro_run.context_settings,
)
@click.pass_context
def sweep(context: click.Context, /, name: str | None, dry_run: bool, **options: Any) -> None:
    """Train losses along a grid of parameters (conf/base/sweeps.yml): a table and a figure.

    Without NAME: the sweeps there are. What is current is not trained again, so that an interrupted
    sweep goes on when the command is repeated. A job that fails costs its point.

    \b
    kedro sweep mask_rate --dataset=trec --seeds=3
    kedro sweep undersampled --dataset=imdb --losses=ce,kwls --dry-run
    """
    _refuse_parts(context, "job")
    options["params"] = _with_sugar(options)
    if name is None:
        loader = _config_loader(options["conf_source"], options["env"], options["params"])
        _print_table([{"sweep": key, "title": title} for key, title in loader.sweeps.items()])
        return
    failed = _explain_errors(lambda: _sweep(name, dry_run, options))
    if failed:
        raise click.ClickException("; ".join(failed))


def _sweep(name: str, dry_run: bool, options: dict[str, Any]) -> list[str]:
    """List the jobs of a sweep, run them, report; which failed and why."""
    from losslab import sweep_runs

    def run(params: dict[str, Any], pipeline: str, **more: Any) -> None:
        _run({**options, "params": params, "pipelines": [pipeline], **more})

    def check(params: dict[str, Any]) -> dict[str, Any]:
        return _parameters({**options, "params": params})

    swept = sweep_runs.SweepRun.create(name, options["params"], check)
    jobs = swept.expand(run)
    _print_jobs(swept, jobs, options)
    if dry_run:
        return []
    results = swept.run(jobs, run)
    failed = [f"{row['label']}: {row['failed']}" for row in results["jobs"] if row["failed"]]
    if any(row["metrics"] for row in results["jobs"]):
        saved = ("sweep_results", results, swept.given)
        version = sweep_runs.save_results(*saved, _project(), options)
        run(swept.given, "sweep", load_versions={"sweep_results": version})
    return failed


def _print_jobs(swept: Any, jobs: Sequence[Any], options: dict[str, Any]) -> None:
    """The trainings that jobs lack, and their time."""
    from losslab import sweep_runs

    plans = sweep_runs.plan_jobs(swept, jobs, _project(), options)
    workers = sweep_runs.workers_of(swept.parameters, options["workers"])
    _print_table(sweep_runs.list_jobs(plans, workers))
    trainings = sum(len(plan.stale) * plan.seeds for plan in plans)
    time = sweep_runs.describe_time(plans, workers)
    click.echo(f"{len(jobs)} jobs, {trainings} trainings; time: {time}, workers: {workers}")


@cli.command(
    params=[
        click.Option(["--trials"], type=int, help="Trials of each loss; the first is its default."),
        *WHOLE_RUNS,
    ],
    context_settings=kedro_run.context_settings,
)
@click.pass_context
def search(context: click.Context, /, trials: int | None, **options: Any) -> None:
    """Search learning rate and options of every loss, then compare tuned with default.

    The same number of trials for every loss, chosen on validation alone. A study per loss lies in a
    file; an interrupted search goes on when the command is repeated. --fresh begins anew.

    \b
    kedro search --losses=bce,db,zlpr --trials=20
    kedro run --losses=bce,db,zlpr --params-file=data/08_reporting/cwe/probe/search/latest/best.yml
    """
    _refuse_parts(context, "loss")
    options["params"] = _with_sugar(options)
    if trials is not None:
        options["params"] = merge_mappings(options["params"], {"search": {"trials": trials}})
    failed = _explain_errors(lambda: _search(options))
    if failed:
        raise click.ClickException("; ".join(failed))


def _search(options: dict[str, Any]) -> list[str]:
    """Search every loss, compare tuned with default, report; which failed and why."""
    from losslab import search_runs, sweep_runs

    fresh, options = options["fresh"], {**options, "fresh": False}

    def run(params: dict[str, Any], pipeline: str, **more: Any) -> None:
        _run({**options, "params": params, "pipelines": [pipeline], **more})

    def check(params: dict[str, Any]) -> dict[str, Any]:
        return _parameters({**options, "params": params})

    searched = search_runs.SearchRun.create(check, _project(), options)
    searched.prepare_studies(fresh=fresh)
    searches, failed = searched.run_trials(run, fresh=fresh)
    _print_table(search_runs.list_searches(searches))
    compared, jobs = searched.compare(searches)
    _print_jobs(compared, jobs, options)
    results = search_runs.gather_results(compared.run(jobs, run), searches, failed)
    lost = [f"{row['label']}: {row['failed']}" for row in results["jobs"] if row["failed"]]
    if any(job["metrics"] for job in results["jobs"]):
        saved = ("search_results", results, searched.given)
        version = sweep_runs.save_results(*saved, _project(), options)
        run(searched.given, "search_report", load_versions={"search_results": version})
    return [*dict.fromkeys(failed.values()), *lost]


def _model_options() -> list[click.Parameter]:
    """Which saved model: of ``kedro run``'s options those that decide on folders, and a seed."""
    chosen = {"dataset", "recipe", "env", "conf_source", "params", "params_file"}
    return [
        click.Option(["--loss"], help="A loss or baseline, or best: the report's winner."),
        click.Option(
            ["--metric"], default="macro_f1", show_default=True, help="What --loss=best is best by."
        ),
        click.Option(
            ["--seed"], type=int, help="Of its trainings; by default the best on validation."
        ),
        *(option for option in OPTIONS if option.name in chosen),
    ]


@cli.command(
    params=[
        FILE,
        *_model_options(),
        click.Option(
            ["--output"],
            default="labels.csv",
            show_default=True,
            help="CSV, or JSON lines (.jsonl).",
        ),
        *LABELLING,
    ],
    context_settings=kedro_run.context_settings,
)
def predict(file: str, output: str, **options: Any) -> None:
    """Label the texts of FILE by a trained loss: CSV, JSON lines, a text on each line, or - (stdin).

    \b
    kedro predict texts.csv --loss=db --output=labels.csv
    kedro predict texts.jsonl --dataset=reuters --recipe=minilm --loss=best --explain
    """
    _explain_errors(lambda: _predict(file, output, options))


def _predict(file: str, output: str, options: dict[str, Any]) -> None:
    from losslab.inference.classifier import Classifier

    if output == "-":
        raise click.ClickException(
            "kedro's log is on standard output: name a file by --output, or use losslab predict"
        )
    labelling = {name: options.pop(name) for name in ("rule", "text", "id", "top", "explain")}
    given = {name: value for name, value in labelling.items() if value not in (None, False)}
    if "text" in given:
        given["text"] = split_columns(given["text"])
    model, settings = _open_model(options, given)
    wanted = {name: settings[name] for name in (*labelling, "max_words")}
    click.echo(label_file(Classifier(model), file, output, **wanted))


def _open_model(options: dict[str, Any], settings: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The model that the options choose, and the parameters ``predict`` with ``settings``."""
    from losslab.inference_runs import BEST, find_best, open_model

    options["params"] = _with_sugar(options)
    loss, metric = options.pop("loss"), options.pop("metric")
    if loss == BEST:
        loss = find_best(_project(), options, metric)
        click.echo(f"best by {metric}: {loss}")
    chosen = {"loss": loss, "seed": options.pop("seed"), **settings}
    given = {name: value for name, value in chosen.items() if value is not None}
    options["params"] = merge_mappings(options["params"], {"predict": given})
    parameters = _parameters(options)
    return open_model(_project(), options, parameters), parameters["predict"]


@cli.command(
    params=[
        *_model_options(),
        click.Option(["--to"], required=True, help="The folder to write."),
        click.Option(
            ["--format", "form"],
            type=click.Choice(["losslab", "huggingface", "onnx"]),
            default="losslab",
            show_default=True,
            help="A model folder; one for transformers; a model folder with an ONNX graph.",
        ),
        click.Option(["--force"], is_flag=True, help="Replace a model that is there."),
    ],
    context_settings=kedro_run.context_settings,
)
def export(to: str, form: str, force: bool, **options: Any) -> None:
    """Write a trained loss as a folder that labels texts anywhere.

    \b
    kedro export --loss=db --to=my_model
    python -c "import losslab; print(losslab.load('my_model').predict(['a text']))"
    """
    _explain_errors(lambda: _export(Path(to), form, force, options))


def _export(folder: Path, form: str, force: bool, options: dict[str, Any]) -> None:
    from losslab.inference.folder import refuse_occupied
    from losslab.inference.formats import export_model

    refuse_occupied(folder, replace=force)
    model, _ = _open_model(options, {})
    click.echo(export_model(model, folder, form, replace=force))


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
    _sweep_leftovers()
    done = [_fetch_one(name, raw, force) for name in datasets]  # all, even if one fails
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


@cli.command()
@click.option("--keep", type=click.IntRange(1), default=3, help="Versions kept of each dataset.")
@click.option("--dry-run", is_flag=True, help="Tell what would be removed.")
def prune(keep: int, dry_run: bool) -> None:
    """Remove old versions of datasets, and checkpoints of trainings given up.

    Kept are the newest versions, everything that the kept report pages were made of, and models,
    metrics and pages of the runs that MLflow has: delete a run there to give them up.
    """
    from losslab.datasets import pruning
    from losslab.runners import find_holders

    data = _project() / "data"
    holders = find_holders(_project() / RUNS)
    if holders:
        raise click.ClickException(f"{holders[0]} is running: prune when it has ended")
    versions = pruning.find_versions(data)
    unused = pruning.select_unused(versions, keep=keep, runs=_tracked_sessions())
    checkpoints = pruning.find_old_checkpoints(data)
    freed = sum(each.size for each in unused) + sum(map(pruning.size_of, checkpoints))
    if not dry_run:
        pruning.remove(unused, checkpoints)
    click.echo(
        f"{'would remove' if dry_run else 'removed'} {len(unused)} of {len(versions)} versions and "
        f"{len(checkpoints)} checkpoints, {freed / 1e6:.1f} MB"
    )


def _tracked_sessions() -> set[str]:
    """The Kedro sessions that MLflow has a run of, or of whose results it has one."""
    from mlflow.tracking import MlflowClient

    server = _config_loader(conf_source=None, env=None)["mlflow"]["server"]
    client = MlflowClient(server["mlflow_tracking_uri"])
    try:
        return set(_find_sessions(client))
    except Exception as error:  # noqa: BLE001 - MLflow raises many
        raise click.ClickException(
            f"MLflow does not tell which runs it has, so nothing was removed: {error}"
        ) from None


def _find_sessions(client: Any) -> Iterator[str]:
    from losslab.tracking import MADE_BY_TAG

    experiments = [each.experiment_id for each in client.search_experiments()]
    page = client.search_runs(experiments, max_results=1000)
    while page:
        for run in page:
            tags = run.data.tags
            yield from (tags[name] for name in ("session", MADE_BY_TAG) if name in tags)
        if not page.token:
            return
        page = client.search_runs(experiments, max_results=1000, page_token=page.token)


class _WithPlugin(click.Group):
    """Commands of ours before those of kedro-mlflow."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*self.commands, *_plugin().list_commands(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return self.commands.get(cmd_name) or _plugin().get_command(ctx, cmd_name)


def _plugin() -> click.Group:
    from kedro_mlflow.framework.cli.cli import mlflow_commands

    return cast(click.Group, mlflow_commands)


@cli.group(name="mlflow", cls=_WithPlugin)
def mlflow_group() -> None:
    """Look at the runs in MLflow."""


@mlflow_group.command()
@click.option("--host", help="Address to listen at; ui.host of mlflow.yml.")
@click.option("--port", help="Port to listen at; ui.port of mlflow.yml.")
@click.option("--env", "-e", help="Kedro environment.")
@click.option("--browser/--no-browser", default=True, help="Open the runs in a browser.")
def ui(host: str | None, port: str | None, env: str | None, browser: bool) -> None:
    """Start MLflow's pages and open them on the runs, the charts of losses first."""
    from losslab.tracking import open_runs, serve

    config = _config_loader(conf_source=None, env=env)["mlflow"]
    uri, name = config["server"]["mlflow_tracking_uri"], config["tracking"]["experiment"]["name"]
    show = open_runs if browser else click.echo
    if uri.startswith("http"):
        show(f"{uri}{_view_on(uri, name)}")
        return
    host, port = host or config["ui"]["host"], port or str(config["ui"]["port"])
    sys.exit(serve(uri, host, port, name, show=show))


def _view_on(uri: str, name: str) -> str:
    """The view of an experiment on a server that runs already; its first page before the first run."""
    from mlflow.tracking import MlflowClient

    from losslab.tracking import view_address

    experiment = MlflowClient(uri).get_experiment_by_name(name)
    return view_address(experiment.experiment_id) if experiment else "/"


def _print_table(rows: list[dict[str, str]]) -> None:
    widths = {key: max(len(row[key]) for row in [*rows, {key: key}]) for key in rows[0]}
    for row in [{key: key for key in widths}, *rows]:
        click.echo("  ".join(row[key].ljust(width) for key, width in widths.items()).rstrip())


def _resolve_names(options: dict[str, Any]) -> None:
    """Stop at an unknown name; Kedro would ignore it or answer with a traceback.

    Nodes and namespaces may be named by the end of their name: ``db_loss.train``.
    """
    from losslab.pipeline_registry import create_registry

    parameters = _parameters(options)
    task = parameters["task"]
    registry = create_registry(
        task,
        parameters["losses"],
        parameters["baselines"],
        soft_zlpr=parameters["soft_labels"]["soft_zlpr"],
        modality=parameters["modality"],
    )
    chosen = options["pipelines"] or ["__default__"]
    if task == "retrieval":
        _refuse_for_questions(chosen, registry)
    of_words = (*map(namespace, METHODS), "predict") if parameters["modality"] == "image" else ()
    _check("pipeline", chosen, {*registry, *of_words})
    _check_losses(chosen, task, parameters["losses"])
    for name in chosen:
        if name not in registry:
            raise click.ClickException(f"{name} reads words, and the documents are images")
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


def _refuse_for_questions(pipelines: Iterable[str], registry: Collection[str]) -> None:
    """Stop at a pipeline for documents with labels where the dataset has questions."""
    from losslab.pipeline_registry import create_registry

    for name in pipelines:
        if name not in registry and name in create_registry():
            raise click.ClickException(
                f"'{name}' is for documents with labels, and this dataset has questions: kedro run "
                "trains and compares what fits; --losses chooses"
            )


def _check_losses(pipelines: Iterable[str], task: str, losses: Collection[str] | None) -> None:
    """Stop at a pipeline that does not fit the task, or at a loss that is not among ``--losses``."""
    for name in pipelines:
        if name == "retrieval" and task != name:
            raise click.ClickException(
                "retrieval needs questions, and this dataset has documents with labels: "
                f"--dataset={' or '.join(QUESTION_READERS)}"
            )
        loss = METHODS.get(method_of(name))
        if loss is None or name != namespace(loss.name):
            continue
        if task not in loss.tasks:
            raise click.ClickException(
                f"{name} fits {' and '.join(loss.tasks)}-label tasks, "
                f"this dataset is {task}-label (parameter 'task')"
            )
        if loss.name in LOSSES and losses and loss.name not in losses:
            raise click.ClickException(
                f"--pipelines={name} is not among --losses={','.join(losses)}: leave one of them out"
            )


def _parameters(options: dict[str, Any]) -> dict[str, Any]:
    """The parameters as the run will see them."""
    given = {name: options[name] for name in ("conf_source", "env", "params")}
    parameters: dict[str, Any] = _config_loader(**given)["parameters"]
    return parameters


def _config_loader(
    conf_source: str | None, env: str | None, params: dict[str, Any] | None = None
) -> Any:
    return settings.CONFIG_LOADER_CLASS(
        conf_source or str(_project() / settings.CONF_SOURCE),
        env=env or os.environ.get("KEDRO_ENV"),
        runtime_params=params,
        **settings.CONFIG_LOADER_ARGS,
    )


def _check(kind: str, names: Iterable[str | None], known: Collection[str]) -> None:
    for name in names:
        if name and name not in known:
            raise click.ClickException(did_you_mean(kind, name, known))
