"""The papers' results beside ours: their numbers from a file, ours from runs that exist."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from losslab.reporting.saved import is_fold, saved_results

RECIPES = {
    "TextCNN": ("textcnn",),
    "LSTM": ("lstm",),
    "BERT": ("paper", "minilm", "probe"),
    "BioBERT": ("paper", "minilm", "probe"),
}
"""Recipes whose runs may stand beside a model of the papers, the nearest first; each says which."""
INTRODUCTION = """# The papers' tables

Written by `kedro run --pipelines=paper_tables` from `src/losslab/reporting/paper_tables.yml` (the
papers' numbers) and the newest results below `data/08_reporting/` (ours). A cell of ours is empty
where no such run exists. Numbers are percent unless said otherwise.
"""
PARTS = {"single": "documents with one label", "several": "documents with several labels"}
RUN_FILE = "run_description.json"
UNITS = {1: "Shares of 1, not percent.", 0: "Counts, not percent."}


@dataclass(frozen=True)
class Run:
    """The newest result of one loss, and the commit if the report of the same command tells it."""

    metrics: Mapping[str, float]
    seeds: int
    commit: str | None
    conditions: str


Runs = Mapping[tuple[str, str, str], Run]
"""By dataset, recipe and loss."""


def read_paper_tables() -> dict[str, Any]:
    """What the papers print: ``papers``, ``losses``, ``splits``, ``tables``."""
    text = files("losslab.reporting").joinpath("paper_tables.yml").read_text(encoding="utf-8")
    content: dict[str, Any] = yaml.safe_load(text)
    return content


def count_documents(folder: Path) -> dict[str, str]:
    """Documents of each split by dataset, of the newest ``<dataset>/corpus_table.csv``."""
    counts = {}
    for place in sorted(folder.glob("*/corpus_table.csv")):
        newest = max(place.glob("*/corpus_table.csv"), default=None)
        if newest is not None:
            table = pd.read_csv(newest).set_index("split")["instances"]
            splits = (f"{table.get(name, 0):,}" for name in ("train", "validation", "test"))
            counts[place.parent.name] = " / ".join(splits)
    return counts


def find_runs(folder: Path) -> dict[tuple[str, str, str], Run]:
    """The newest result of each dataset, recipe and loss below ``folder``.

    Single folds, and corpora that were unbalanced on purpose, are other experiments.
    """
    runs = {}
    for saved in saved_results(folder):
        if is_fold(saved) or saved.result["conditions"].get("unbalance"):
            continue
        place = folder / saved.dataset / saved.recipe
        metrics = saved.result["mean"] | _by_documents(place / f"{saved.loss}_loss", saved.version)
        seeds, conditions = len(saved.result["seeds"]), saved.result["fingerprint"]
        run = Run(metrics, seeds, _commit(place / RUN_FILE / saved.version), conditions)
        runs[saved.dataset, saved.recipe, saved.loss] = run
    return runs


def _by_documents(loss: Path, version: str) -> dict[str, float]:
    """F1 of documents with one label and with several, if the error analysis of that run is there."""
    file = loss / "errors.json" / version / "errors.json"
    parts = json.loads(file.read_text(encoding="utf-8"))["by_documents"] if file.is_file() else {}
    return {
        f"{PARTS[part]}/{metric}": figures[metric]
        for part, figures in parts.items()
        for metric in ("micro_f1", "macro_f1")
        if figures["documents"]
    }


def _commit(version: Path) -> str | None:
    """The commit of the command that saved a version: all its datasets carry the same one."""
    file = version / RUN_FILE
    return json.loads(file.read_text(encoding="utf-8"))["commit"] if file.is_file() else None


def write_paper_tables(
    content: Mapping[str, Any], runs: Runs, documents: Mapping[str, str] | None = None
) -> str:
    """The document: a section per paper, a table per table.

    ``documents``: how many documents stand behind ours, by dataset.
    """
    parts = [INTRODUCTION]
    counts = documents or {}
    about = {
        name: f"{told}; {counts.get(name, 'unknown numbers of')} documents"
        for name, told in content["splits"].items()
    }
    for paper, title in content["papers"].items():
        parts.append(f"## {title}\n")
        for table in content["tables"]:
            if table["paper"] == paper:
                parts += _section(table, content["losses"][paper], about, runs)
    return "\n".join(parts)


def _section(
    table: Mapping[str, Any], names: Mapping[str, str], about: Mapping[str, str], runs: Runs
) -> Iterator[str]:
    number = "Results" if table["table"] is None else f"Table {table['table']}"
    yield f"### {number}: {table['about']}, {table['model']}\n"
    recipe = _recipe(table, names, runs)
    ours = {
        name: runs.get((table["dataset"], recipe, names.get(name, "")))
        for name in (table["rows"] if recipe else ())
    }
    yield "\n".join(_lines(table, ours)) + "\n"
    for note in (UNITS.get(table.get("unit", 100)), table.get("note")):
        if note:
            yield f"{note}\n"
    if recipe:
        yield _tell(table["dataset"], recipe, [run for run in ours.values() if run], about) + "\n"


def _recipe(table: Mapping[str, Any], names: Mapping[str, str], runs: Runs) -> str:
    """The nearest recipe that ran on the table's dataset; empty where none did."""
    for recipe in RECIPES.get(table["model"], ()):
        if any((table["dataset"], recipe, names.get(name)) in runs for name in table["rows"]):
            return recipe
    return ""


def _lines(table: Mapping[str, Any], ours: Mapping[str, Run | None]) -> Iterator[str]:
    titles = [column.replace("_", " ").replace("/", " ") for column in table["columns"]]
    heads = ["", *(cell for title in titles for cell in (title, "ours"))]
    yield "| " + " | ".join(heads) + " |"
    yield "|---" + "|---:" * (len(heads) - 1) + "|"
    scale = {1: 1.0}.get(table.get("unit", 100), 100.0)
    for name, values in table["rows"].items():
        run, cells = ours.get(name), [name]
        for column, value in zip(table["columns"], values, strict=True):
            own = run.metrics.get(column) if run else None
            cells += [_show(value), "" if own is None else f"{scale * own:.2f}"]
        yield "| " + " | ".join(cells) + " |"


def _show(value: float | None) -> str:
    return "" if value is None else str(value)


def _tell(dataset: str, recipe: str, runs: Sequence[Run], about: Mapping[str, str]) -> str:
    """How ours came about, so that nobody takes them for the same experiment."""
    seeds = sorted({run.seeds for run in runs})
    commits = sorted({run.commit[:12] if run.commit else "unknown" for run in runs})
    each = " or ".join(map(str, seeds))
    unlike = len({run.conditions for run in runs}) > 1
    warning = " They differ in more than the loss." if unlike else ""
    return (
        f"Ours: dataset `{dataset}`, recipe `{recipe}`, {each} seed{'s' if seeds != [1] else ''}, "
        f"commit {', '.join(commits)}; {about[dataset]}.{warning}"
    )
