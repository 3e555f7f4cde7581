"""``losslab.compare``: losses compared on a table, from Python.

The pipelines run as ``kedro run`` in a project folder, with which the command line can go on.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from losslab.data.csv_cells import unquote_formulas
from losslab.data.readers.own import EVERY, Layout
from losslab.errors import LosslabError
from losslab.parameters.validation import merge_mappings
from losslab.reporting import to_markdown
from losslab.reporting.definitions import COLUMNS, SHOWN_COLUMNS

HEADER = "# Written by losslab.compare, which writes it anew\n"
PYPROJECT = """[tool.kedro]
package_name = "losslab"
project_name = "losslab"
kedro_init_version = "{kedro}"

[tool.kedro_telemetry]
project_id = ""
"""
INSTALLED = Path(__file__).with_name("conf")
CHECKOUT = Path(__file__).parents[2] / "conf"
SECONDS_TO_END = 60
"""For a run that is interrupted, to save its checkpoints."""
REPORT = re.compile(r"^report   (.+)$", re.MULTILINE)


@dataclass(frozen=True, repr=False)
class Comparison:
    """What a comparison of losses found.

    Attributes:
        table: a row per loss, best macro-F1 first: test metrics, means over seeds.
        details: every metric of ``comparison.csv``, with standard deviations over seeds.
        report: the page, one file that opens offline.
        project: the Kedro project; ``kedro mlflow ui`` and ``kedro viz`` work there.
        command: what ran there.
    """

    table: pd.DataFrame
    details: pd.DataFrame
    report: Path
    project: Path
    command: str

    def __repr__(self) -> str:
        return f"{to_markdown(self.details)}\n\nreport   {self.report}\nproject  {self.project}"

    def _repr_html_(self) -> str:
        """In a notebook: the table, and where the page is."""
        page = escape(str(self.report))
        link = f'<a href="{escape(self.report.as_uri())}">{page}</a>'
        return f"{self.table.to_html(float_format='{:.3f}'.format)}<p>Report: {link}</p>"


def compare(
    data: Any,
    *,
    text: str | list[str] = "text",
    labels: str | list[str] = "labels",
    split: str | None = None,
    id: str | None = None,  # noqa: A002 - as the option of the reader
    task: str = "multi",
    losses: Iterable[str] | None = None,
    baselines: Iterable[str] | None = None,
    seeds: int | None = None,
    recipe: str | None = None,
    params: Mapping[str, Any] | None = None,
    name: str = "frame",
    folder: str | Path = "losslab_runs",
    quiet: bool = False,
) -> Comparison:
    """Train losses on a table and compare them: ``kedro run`` on one's own data, from Python.

    What an earlier call computed is taken up, as by the command.

    Args:
        data: a DataFrame, a Hugging Face dataset (a ``DatasetDict`` brings its splits), or the path
            of a file or folder as ``corpus.file`` takes it.
        text: the column of the text, or several.
        labels: the column of the labels, lists or separated lists; several: one-hot columns; ``*``:
            every column of 0 and 1.
        split: the column of train, validation or test; default: the data are split.
        id: the column of document ids; default: the number of the row.
        task: ``single`` where every document has exactly one label.
        losses: names of losses; default: every one that fits the task.
        baselines: names of baselines; default: every one, ``[]``: none.
        seeds: trainings per loss.
        recipe: the model and its budget.
        params: any other parameters, nested or dotted: ``{"split.test": 0.2}``.
        name: of the dataset; results of other data need another name.
        folder: the project's folder, made where there is none.
        quiet: print nothing while it runs.

    Raises:
        LosslabError: what is wrong with the data or the arguments, in one line.
    """
    project = create_project(Path(folder))
    if isinstance(data, Mapping) and all(hasattr(part, "to_pandas") for part in data.values()):
        split = split or "split"
    layout = Layout(text, labels, "auto", split, id)
    target = _dataset_file(project, name)
    corpus: dict[str, Any] = {
        "file": _save(data, layout, project / f"data/01_raw/{name}/{name}.parquet")
    }
    corpus |= {"text": text, "labels": labels, "split": split, "id": id}
    settings = merge_mappings(
        _nested(params or {}), {"reader": "own", "task": task, "corpus": corpus}
    )
    _write(target, HEADER + yaml.safe_dump(settings, sort_keys=False, allow_unicode=True))
    words = [
        f"--{option}={value}"
        for option, value in {
            "dataset": name,
            "recipe": recipe,
            "losses": None if losses is None else ",".join(losses),
            "baselines": None if baselines is None else ",".join(baselines) or "none",
            "seeds": seeds,
        }.items()
        if value is not None
    ]
    printed = _run(words, project, quiet=quiet)
    return _read_comparison(printed, project, shell(words))


def shell(words: Iterable[str]) -> str:
    """The command of a comparison."""
    return " ".join(["kedro", "run", *words])


def create_project(folder: Path) -> Path:
    """Make a Kedro project with the package's configuration, or bring one of ours up to date.

    ``conf/local`` is the user's, and so are files of ``conf/datasets`` that the package has not.
    """
    folder = folder.resolve()
    settings = folder / "pyproject.toml"
    if settings.exists() and 'package_name = "losslab"' not in settings.read_text("utf-8"):
        raise LosslabError(f"{folder} holds another project: choose another folder")
    source = INSTALLED if INSTALLED.is_dir() else CHECKOUT
    if not (source / "base").is_dir():
        raise LosslabError(f"{source} is missing: install losslab anew")
    for file in (
        *source.glob("base/*.yml"),
        *source.glob("datasets/*.yml"),
        source / "logging.yml",
    ):
        _write(folder / "conf" / file.relative_to(source), file.read_text("utf-8"))
    for empty in ("conf/local", "src", "data"):
        (folder / empty).mkdir(exist_ok=True)
    _write(folder / ".telemetry", "consent: false\n")
    _write(settings, PYPROJECT.format(kedro=version("kedro")))
    return folder


def _write(path: Path, text: str) -> None:
    """Write a file in one step, if it is not there already."""
    if path.exists() and path.read_text("utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_text(text, "utf-8")
    part.replace(path)


def _dataset_file(project: Path, name: str) -> Path:
    """The settings of the dataset, unless it is one of the package's or the user's."""
    path = project / f"conf/datasets/{name}.yml"
    if not re.fullmatch(r"\w+", name):
        raise LosslabError(f"name: letters, digits and underscores, got {name!r}")
    if path.exists() and not path.read_text("utf-8").startswith(HEADER):
        raise LosslabError(f"name: there is a dataset '{name}' already, choose another name")
    return path


def _nested(params: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted names as mappings.

    >>> _nested({"split.test": 0.2, "split": {"seed": 3}})
    {'split': {'test': 0.2, 'seed': 3}}
    """
    nested: dict[str, Any] = {}
    for name, value in params.items():
        for part in reversed(name.split(".")):
            value = {part: value}
        nested = merge_mappings(nested, value)
    return nested


def _save(data: Any, layout: Layout, path: Path) -> str:
    """The file of the data: the one given, or the table's columns as Parquet."""
    if isinstance(data, str | Path):
        return str(Path(data).resolve())
    frame = _frame(data).rename(columns=str)
    named = layout.among(list(frame.columns)).columns
    for name in named:
        if list(frame.columns).count(name) != 1:
            shown = ", ".join(frame.columns)[:500]
            raise LosslabError(f"expected one column '{name}': the columns are {shown}")
    frame = frame if layout.labels == EVERY else frame[list(dict.fromkeys(named))]
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        frame.map(_plain).to_parquet(part, index=False)
    except (ValueError, TypeError) as error:  # of pyarrow, among them
        raise LosslabError(f"the table cannot be saved: {' '.join(str(error).split())}") from error
    part.replace(path)
    return path.name


def _plain(value: Any) -> Any:
    """A list in place of a set, a tuple or an array."""
    if isinstance(value, set | frozenset):
        return sorted(value)
    return list(value) if isinstance(value, tuple) or hasattr(value, "tolist") else value


def _frame(data: Any) -> pd.DataFrame:
    """A table as pandas has it; of a Hugging Face dataset with the names of classes."""
    if isinstance(data, pd.DataFrame):
        return data
    if isinstance(data, Mapping) and all(hasattr(part, "to_pandas") for part in data.values()):
        return pd.concat([_frame(part).assign(split=name) for name, part in data.items()])
    if not hasattr(data, "to_pandas"):
        kind = type(data).__name__
        raise LosslabError(f"data: expected a DataFrame, a dataset or a path, got {kind}")
    frame = data.to_pandas()
    for column, feature in (getattr(data, "features", None) or {}).items():
        names = getattr(getattr(feature, "feature", feature), "names", None)
        if names:
            frame[column] = [_class_names(value, names) for value in frame[column]]
    return frame


def _class_names(value: Any, names: list[str]) -> Any:
    """The name of a class, of several a list; -1, no class, is null."""
    if hasattr(value, "__len__"):
        return [names[number] for number in value]
    return names[int(value)] if value >= 0 else None


def _run(words: list[str], project: Path, *, quiet: bool) -> str:
    """Run the command in a process of its own, passing on what it prints; what it printed."""
    process = subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "kedro", "run", *words],
        cwd=project,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,  # an interrupted notebook would signal it twice
    )
    lines = []
    try:
        for line in process.stdout or ():
            lines.append(line)
            if not quiet:
                sys.stdout.write(line)
        process.wait()
    finally:
        _end(process)
    printed = "".join(lines)
    if process.returncode:
        errors = [line for line in lines if line.startswith("Error: ")]
        last = errors[-1].removeprefix("Error: ") if errors else "".join(lines[-5:])
        raise LosslabError(last.strip() or f"kedro run ended with code {process.returncode}")
    return printed


def _end(process: "subprocess.Popen[str]") -> None:
    """Let a run that goes on save its checkpoints, and end it."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _read_comparison(printed: str, project: Path, command: str) -> Comparison:
    """The results that a run named; the page by its version, so that later runs leave it."""
    found = REPORT.search(printed)
    if found is None:
        raise LosslabError("no loss was evaluated, so there is no report")
    page = project / found[1].strip()
    details = unquote_formulas(pd.read_csv(page.parent / "latest/comparison.csv"))
    shown = details.set_index("loss")[list(SHOWN_COLUMNS)].rename(columns=COLUMNS)
    return Comparison(shown, details, page.resolve(), project, command)
