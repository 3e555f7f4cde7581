"""The papers' results beside ours: their numbers from a file, ours from saved results."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from losslab.manifest import Manifest, Provenance
from losslab.parameters import namespace
from losslab.reporting.saved_results import is_sound, saved_results

RECIPES = {
    "TextCNN": ("textcnn",),
    "LSTM": ("lstm",),
    "BERT": ("bert", "minilm", "probe", "hybrid"),
    "BioBERT": ("bert", "minilm", "probe", "hybrid"),
}
"""Recipes whose results stand beside a model of the papers, the nearest first."""
INTRODUCTION = """# The papers' tables

<!-- written by tools/paper_tables.py -->

The papers' numbers are those of `src/losslab/reporting/paper_tables.yml`, ours the newest results
below `data/08_reporting/`. A cell of ours is empty where there is no result. Numbers are percent
unless stated otherwise.
"""
PARTS = {"single": "documents with one label", "several": "documents with several labels"}
UNITS = {1: "Shares of 1, not percent.", 0: "Counts, not percent."}


@dataclass(frozen=True)
class OurResult:
    """The newest result of one loss, with the commit it was computed by."""

    metrics: Mapping[str, float]
    seeds: int
    commit: str | None
    conditions: str


OurResults = Mapping[tuple[str, str, str], OurResult]
"""By dataset, recipe and loss."""


def read_paper_tables() -> dict[str, Any]:
    """The papers' numbers: ``papers``, ``losses``, ``splits``, ``tables``."""
    text = files("losslab.reporting").joinpath("paper_tables.yml").read_text(encoding="utf-8")
    content: dict[str, Any] = yaml.safe_load(text)
    return content


def count_documents(folder: Path) -> dict[str, str]:
    """Documents of each split by dataset, of the newest ``<dataset>/corpus_table.csv``."""
    counts = {}
    for versions in sorted(folder.glob("*/corpus_table.csv")):
        newest = max(versions.glob("*/corpus_table.csv"), default=None)
        if newest is not None:
            table = pd.read_csv(newest).set_index("split")["instances"]
            splits = (f"{table.get(name, 0):,}" for name in ("train", "validation", "test"))
            counts[versions.parent.name] = " / ".join(splits)
    return counts


def find_our_results(folder: Path) -> dict[tuple[str, str, str], OurResult]:
    """The newest result of each dataset, recipe and loss below ``folder``.

    Single folds, undersampled corpora and variants of a dataset or recipe are other experiments.
    """
    newest = {}
    for saved in saved_results(folder):
        if saved.is_variant or not saved.is_whole_corpus:
            continue
        loss_folder = saved.folder / namespace(saved.loss)
        file = loss_folder / "metrics.json" / saved.version / "metrics.json"
        made = Manifest.read(file).provenance
        newest[saved.dataset, saved.recipe, saved.loss] = OurResult(
            metrics=saved.result["mean"] | _by_documents(loss_folder, made),
            seeds=len(saved.result["seeds"]),
            commit=made.run.get("git_commit"),
            conditions=saved.result["fingerprint"],
        )
    return newest


def _by_documents(loss: Path, metrics: Provenance) -> dict[str, float]:
    """F1 of documents with one label and with several, of the error analysis of the same predictions."""
    predictions = metrics.inputs.get(f"{loss.name}_predictions")
    files = sorted(loss.glob("errors.json/*/errors.json"), reverse=True)
    for file in filter(is_sound, files):
        if Manifest.read(file).provenance.inputs.get(f"{loss.name}_predictions") == predictions:
            return _parts(json.loads(file.read_text(encoding="utf-8"))["by_documents"])
    return {}


def _parts(by_documents: Mapping[str, Any]) -> dict[str, float]:
    return {
        f"{PARTS[part]}/{metric}": values[metric]
        for part, values in by_documents.items()
        for metric in ("micro_f1", "macro_f1")
        if values["documents"]
    }


def write_paper_tables(
    content: Mapping[str, Any], ours: OurResults, documents: Mapping[str, str] | None = None
) -> str:
    """The document: a section per paper, a table per table.

    ``documents``: the sizes of our splits, by dataset.
    """
    sections = [INTRODUCTION]
    sizes = documents or {}
    splits = {
        name: f"{split}; {sizes.get(name, 'unknown numbers of')} documents"
        for name, split in content["splits"].items()
    }
    for paper, title in content["papers"].items():
        sections.append(f"## {title}\n")
        for table in content["tables"]:
            if table["paper"] == paper:
                sections += _section(table, content["losses"][paper], splits, ours)
    return "\n".join(sections)


def _section(
    table: Mapping[str, Any], names: Mapping[str, str], splits: Mapping[str, str], ours: OurResults
) -> Iterator[str]:
    number = "Results" if table["table"] is None else f"Table {table['table']}"
    yield f"### {number}: {table['about']}, {table['model']}\n"
    recipe = _nearest_recipe(table, names, ours)
    by_row = {
        name: ours.get((table["dataset"], recipe, names.get(name, "")))
        for name in (table["rows"] if recipe else ())
    }
    yield "\n".join(_lines(table, by_row)) + "\n"
    for note in (UNITS.get(table.get("unit", 100)), table.get("note")):
        if note:
            yield f"{note}\n"
    if recipe:
        results = [result for result in by_row.values() if result]
        yield _provenance(table["dataset"], recipe, results, splits) + "\n"


def _nearest_recipe(table: Mapping[str, Any], names: Mapping[str, str], ours: OurResults) -> str:
    """The nearest recipe with results on the table's dataset; empty where there is none."""
    for recipe in RECIPES.get(table["model"], ()):
        if any((table["dataset"], recipe, names.get(name)) in ours for name in table["rows"]):
            return recipe
    return ""


def _lines(table: Mapping[str, Any], ours: Mapping[str, OurResult | None]) -> Iterator[str]:
    titles = [column.replace("_", " ").replace("/", " ") for column in table["columns"]]
    heads = ["", *(cell for title in titles for cell in (title, "ours"))]
    yield "| " + " | ".join(heads) + " |"
    yield "|---" + "|---:" * (len(heads) - 1) + "|"
    scale = {1: 1.0}.get(table.get("unit", 100), 100.0)
    for name, values in table["rows"].items():
        result, cells = ours.get(name), [name]
        for column, value in zip(table["columns"], values, strict=True):
            metric = result.metrics.get(column) if result else None
            theirs = "" if value is None else str(value)
            cells += [theirs, "" if metric is None else f"{scale * metric:.2f}"]
        yield "| " + " | ".join(cells) + " |"


def _provenance(
    dataset: str, recipe: str, results: Sequence[OurResult], splits: Mapping[str, str]
) -> str:
    """Dataset, recipe, seeds, commit and split of our results."""
    seeds = sorted({result.seeds for result in results})
    commits = sorted({result.commit[:12] if result.commit else "unknown" for result in results})
    each = " or ".join(map(str, seeds))
    mixed = len({result.conditions for result in results}) > 1
    warning = " They differ in more than the loss." if mixed else ""
    return (
        f"Ours: dataset `{dataset}`, recipe `{recipe}`, {each} seed{'s' if seeds != [1] else ''}, "
        f"commit {', '.join(commits)}; {splits[dataset]}.{warning}"
    )
