"""The papers' results beside ours: their numbers from a file, ours from saved results."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from losslab.manifest import Manifest, Provenance
from losslab.parameters import namespace
from losslab.reporting.comparison import rank
from losslab.reporting.saved_results import is_sound, saved_results

RECIPES = {
    "TextCNN": ("textcnn",),
    "LSTM": ("lstm", "lstm-bidirectional=False"),
    "BERT": ("bert", "minilm", "probe", "hybrid"),
    "BioBERT": ("bert", "minilm", "probe", "hybrid"),
    "RoBERTa": ("roberta",),
}
"""Folders of recipes whose results stand beside a model of the papers, the nearest first."""
INTRODUCTION = """# The papers' tables

<!-- written by tools/paper_tables.py -->

The papers' numbers are those of `src/losslab/reporting/paper_tables.yml`, ours the results in
`docs/results/`, with ± the standard deviation over seeds. A cell of ours is empty where there is no
result. Numbers are percent unless stated otherwise. Dataset `cnipa-part=title` is
`--dataset=cnipa --params=corpus.part=title`; parts of a paper's documents that it has no table of
stand below its rows.
"""
UNITS = {1: "Shares of 1, not percent.", 0: "Counts, not percent."}
FORMATS = {100: (100, "{:.2f}"), 1: (1, "{:.2f}"), 0: (1, "{:g}")}
"""By unit: the scale of our metrics, and how a cell shows them."""


@dataclass(frozen=True)
class OurResult:
    """The newest result of one loss, with the commit it was computed by."""

    metrics: Mapping[str, float]
    seeds: int
    commit: str | None
    conditions: str
    std: Mapping[str, float] = field(default_factory=dict)


Key = tuple[str, str, str]
"""Folder of the dataset, folder of the recipe, loss."""
OurResults = Mapping[Key, OurResult]


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


def find_our_results(folder: Path) -> dict[Key, OurResult]:
    """The newest result of each dataset, recipe and loss below ``folder``.

    Variants of a dataset or recipe go by their own folders. Single folds and undersampled corpora are
    other experiments.
    """
    newest = {}
    for saved in saved_results(folder):
        if not saved.is_whole_corpus:
            continue
        loss_folder = saved.folder / namespace(saved.loss)
        file = loss_folder / "metrics.json" / saved.version / "metrics.json"
        made = Manifest.read(file).provenance
        newest[saved.folder.parent.name, saved.folder.name, saved.loss] = OurResult(
            metrics=saved.result["mean"] | _by_cardinality(loss_folder, made),
            seeds=len(saved.result["seeds"]),
            commit=made.run.get("git_commit"),
            conditions=saved.result["fingerprint"],
            std=saved.result.get("std", {}),
        )
    return newest


def columns_of_papers() -> set[str]:
    """The metrics that the papers' tables have."""
    return {column for table in read_paper_tables()["tables"] for column in table["columns"]}


def as_json(result: OurResult) -> dict[str, Any]:
    """A result with the metrics of the papers' tables alone, to five digits."""
    columns = columns_of_papers()
    facts = asdict(result)
    for name in ("metrics", "std"):
        shown = {key: facts[name].get(key) for key in sorted(columns)}
        facts[name] = {key: round(value, 5) for key, value in shown.items() if value is not None}
    return facts


def read_results(folder: Path) -> tuple[dict[Key, OurResult], dict[str, str]]:
    """Collected results, ``<dataset>_<recipe>.json``, and the documents of each dataset's splits."""
    found, documents = {}, {}
    for file in sorted(folder.glob("*_*.json")):
        content = json.loads(file.read_text(encoding="utf-8"))
        dataset = content["dataset"]
        documents[dataset] = content["documents"]
        for loss, facts in content["papers"].items():
            found[dataset, content["recipe"], loss] = OurResult(**facts)
    return found, documents


def _by_cardinality(loss: Path, metrics: Provenance) -> dict[str, float]:
    """F1 by band of labels per document, of the error analysis of the same predictions."""
    predictions = metrics.inputs.get(f"{loss.name}_predictions")
    files = sorted(loss.glob("errors.json/*/errors.json"), reverse=True)
    for file in filter(is_sound, files):
        if Manifest.read(file).provenance.inputs.get(f"{loss.name}_predictions") == predictions:
            bands = json.loads(file.read_text(encoding="utf-8")).get("by_cardinality", [])
            return {
                f"{band['labels']}/{metric}": band[metric]
                for band in bands
                for metric in ("micro_f1", "macro_f1")
                if band["documents"]
            }
    return {}


def write_paper_tables(
    content: Mapping[str, Any], ours: OurResults, documents: Mapping[str, str] | None = None
) -> str:
    """The document: a section per paper, a table per table.

    ``documents``: the sizes of our splits, by folder of the dataset.
    """
    sections = [INTRODUCTION]
    for paper, title in content["papers"].items():
        sections.append(f"## {title}\n")
        names = content["losses"][paper]
        tables = [table for table in content["tables"] if table["paper"] == paper]
        for table in tables:
            if "best_of" in table:
                cells, source = _count_best(table, tables, names, ours)
                sections += _section(table, cells, [source])
            else:
                sections += _compared_section(table, content, ours, documents or {})
    return "\n".join(sections)


def _compared_section(
    table: Mapping[str, Any], content: Mapping[str, Any], ours: OurResults, sizes: Mapping[str, str]
) -> Iterator[str]:
    """A table with ours beside it. Parts of its documents that no table is of have rows of their own."""
    names, splits = content["losses"][table["paper"]], content["splits"]
    results = _results(table, names, ours)
    sources = [_provenance(table["dataset"], results, splits, sizes)]
    rows = dict(table["rows"])
    for variant in _parts(table["dataset"], content, ours):
        found = _results({**table, "dataset": variant}, names, ours)
        sources.append(_provenance(variant, found, splits, sizes))
        named = {f"{name}, {variant.rpartition('-')[2]}": each for name, each in found.items()}
        rows |= dict.fromkeys(named, [None] * len(table["columns"]))
        results |= named
    cells = {name: result.metrics for name, (_, result) in results.items()}
    spread = {name: result.std for name, (_, result) in results.items() if result.seeds > 1}
    yield from _section({**table, "rows": rows}, cells, sources, spread)


Cells = Mapping[str, Mapping[str, float]]
"""By row and column."""


def _section(
    table: Mapping[str, Any], ours: Cells, sources: Sequence[str], spread: Cells | None = None
) -> Iterator[str]:
    number = "Results" if table["table"] is None else f"Table {table['table']}"
    yield f"### {number}: {table['about']}, {table['model']}\n"
    yield "\n".join(_lines(table, ours, spread or {})) + "\n"
    for note in (UNITS.get(table.get("unit", 100)), table.get("note"), *sources):
        if note:
            yield f"{note}\n"


def _parts(dataset: str | None, content: Mapping[str, Any], ours: OurResults) -> list[str]:
    """Variants by ``corpus.part`` that have results of ours and no table of the papers."""
    known = {table["dataset"] for table in content["tables"]}
    variants = {name for name, _, _ in ours if name.startswith(f"{dataset}-part=")}
    return sorted(variants - known)


def _results(
    table: Mapping[str, Any], names: Mapping[str, str], ours: OurResults
) -> dict[str, tuple[str, OurResult]]:
    """Recipe and result of the rows that have one: of the recipe they name, or of the nearest."""
    places = {name: names.get(name, "").rpartition("/")[::2] for name in table["rows"]}
    nearest = next(
        (
            recipe
            for recipe in RECIPES.get(table["model"], ())
            if any(
                (table["dataset"], recipe, loss) in ours for own, loss in places.values() if not own
            )
        ),
        "",
    )
    keys = {name: (table["dataset"], own or nearest, loss) for name, (own, loss) in places.items()}
    return {name: (key[1], ours[key]) for name, key in keys.items() if key in ours}


def _count_best(
    table: Mapping[str, Any],
    tables: Sequence[Mapping[str, Any]],
    names: Mapping[str, str],
    ours: OurResults,
) -> tuple[dict[str, dict[str, float]], str]:
    """How often each row is best by each column, and in which of the paper's comparisons.

    A comparison counts if ours has all rows, under the same conditions. Rows that tie for the best
    are all counted.
    """
    counts = {name: dict.fromkeys(table["columns"], 0.0) for name in table["rows"]}
    ran = []
    for other in tables:
        if other["table"] not in table["best_of"]:
            continue
        results = _results({**other, "rows": table["rows"]}, names, ours)
        if len(results) < len(counts) or _are_mixed(results):
            continue
        ran.append(f"{other['about']} with recipe `{results[next(iter(counts))][0]}`")
        for column in table["columns"]:
            values = {name: each.metrics.get(column) for name, (_, each) in results.items()}
            ranks = rank(pd.Series(values, dtype=float), column)
            for name in ranks.index[(ranks == 1).fillna(False)]:
                counts[name][column] += 1
    if not ran:
        return {}, ""
    of_all = sum(other["table"] in table["best_of"] for other in tables)
    return (
        counts,
        f"Ours: {len(ran)} of the {of_all} comparisons: {'; '.join(ran)}. Ties count for each.",
    )


def _lines(table: Mapping[str, Any], ours: Cells, spread: Cells) -> Iterator[str]:
    titles = [column.replace("_", " ").replace("/", " ") for column in table["columns"]]
    heads = ["", *(cell for title in titles for cell in (title, "ours"))]
    yield "| " + " | ".join(heads) + " |"
    yield "|---" + "|---:" * (len(heads) - 1) + "|"
    scale, form = FORMATS[table.get("unit", 100)]
    for name, values in table["rows"].items():
        cells = [name]
        for column, value in zip(table["columns"], values, strict=True):
            metrics = (each.get(name, {}).get(column) for each in (ours, spread))
            shown = [form.format(scale * metric) for metric in metrics if metric is not None]
            cells += ["" if value is None else str(value), " ± ".join(shown)]
        yield "| " + " | ".join(cells) + " |"


def _are_mixed(results: Mapping[str, tuple[str, OurResult]]) -> bool:
    """Whether results of one recipe were made under different conditions."""
    recipes = {recipe for recipe, _ in results.values()}
    return len({(recipe, each.conditions) for recipe, each in results.values()}) > len(recipes)


def _provenance(
    dataset: str,
    results: Mapping[str, tuple[str, OurResult]],
    splits: Mapping[str, str],
    documents: Mapping[str, str],
) -> str:
    """Dataset, recipes, seeds, commit and split of our results; empty without any."""
    if not results:
        return ""
    seeds = sorted({each.seeds for _, each in results.values()})
    commits = {each.commit[:12] if each.commit else "unknown" for _, each in results.values()}
    recipes = " and ".join(
        f"`{name}`" for name in dict.fromkeys(name for name, _ in results.values())
    )
    split = splits.get(dataset) or splits[dataset.partition("-")[0]]
    warning = " They differ in more than the loss." if _are_mixed(results) else ""
    return (
        f"Ours: dataset `{dataset}`, recipe {recipes}, {' or '.join(map(str, seeds))} "
        f"seed{'s' if seeds != [1] else ''}, commit {', '.join(sorted(commits))}; {split}; "
        f"{documents.get(dataset, 'unknown numbers of')} documents.{warning}"
    )
