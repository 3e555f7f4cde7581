"""Runs what docs/results/runs.yml lists, and keeps what it gives in docs/results.

``python tools/results.py --list`` shows what is there, what is missing and how long it will take.
Without options it runs what is missing, the shortest first, and collects each run when it has ended;
interrupted, it goes on when repeated. ``--only reuters_probe`` runs one. ``--collect reuters_probe``
takes the newest report of a run as it is. ``--page`` writes tables and README from the JSON alone.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import choosing_docs
import pandas as pd
import paper_tables
import readme
import yaml
from readme import METRICS, RANKED_BY, Results, read_json

from losslab.baselines import BASELINES
from losslab.errors import LosslabError
from losslab.reporting.comparison import marked_losses
from losslab.reporting.paper_tables import as_json, count_documents, find_our_results

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"
DATA = ROOT / "data"
SEEDS = 3


@dataclass(frozen=True)
class Run:
    """A line of runs.yml."""

    dataset: str
    recipe: str
    minutes: float
    losses: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Of the run and its file."""
        return f"{self.dataset}_{self.recipe}"

    @property
    def words(self) -> list[str]:
        """The command."""
        words = ["run", f"--dataset={self.dataset}", f"--recipe={self.recipe}", f"--seeds={SEEDS}"]
        return words + ([f"--losses={','.join(self.losses)}"] if self.losses else [])

    @property
    def file(self) -> Path:
        """What is kept of the run."""
        return RESULTS / f"{self.name}.json"

    def missing(self) -> str:
        """What the file lacks; empty if nothing."""
        if not self.file.is_file():
            return "all"
        rows = {row["loss"]: row for row in json.loads(self.file.read_text())["losses"]}
        lacking = [name for name in self.losses if name not in rows]
        few = [name for name, row in rows.items() if row["seeds"] < SEEDS]
        return ", ".join([*lacking, *(f"seeds of {name}" for name in few)])


def read_runs(file: Path = RESULTS / "runs.yml") -> dict[str, Run]:
    """The runs, the shortest first."""
    lines = yaml.safe_load(file.read_text(encoding="utf-8"))
    runs = [Run(**{**line, "losses": tuple(line.get("losses", ()))}) for line in lines]
    return {run.name: run for run in sorted(runs, key=lambda run: run.minutes)}


def collect(run: Run, data: Path = DATA, *, busy: bool = False) -> dict[str, Any]:
    """What is kept of the newest report of a run.

    Raises:
        LosslabError: where results and report are not of one run.
    """
    reports = data / "08_reporting"
    summary = summarize_run(reports / run.dataset / run.recipe, busy=busy)
    ours = find_our_results(reports)
    rows = [row["loss"] for row in summary["losses"]]
    rows += [row["baseline"] for row in summary["baselines"]]
    results = {name: ours[run.dataset, run.recipe, name] for name in rows}
    _check_same(summary, results)
    documents = count_documents(data / "03_primary")[run.dataset]
    papers = {name: as_json(result) for name, result in results.items()}
    return {**summary, "documents": documents, "papers": papers}


def _check_same(summary: Mapping[str, Any], results: Mapping[str, Any]) -> None:
    for row in summary["losses"]:
        values = (row[RANKED_BY]["value"], results[row["loss"]].metrics[RANKED_BY])
        if abs(values[0] - values[1]) > 1e-5:
            raise LosslabError(
                f"{row['loss']} was trained again since the newest report: report on it first"
            )


def summarize_run(folder: Path, *, busy: bool = False) -> Results:
    """What is told of the newest report in ``folder``; all its files have one version.

    Raises:
        FileNotFoundError: where the report, or a part of it, is missing.
        ValueError: where it has losses that cannot be compared.
    """
    version = newest_version(folder / "comparison.csv")
    everything = pd.read_csv(versioned(folder / "comparison.csv", version))
    is_baseline = everything["loss"].isin(list(BASELINES))
    comparison = everything[~is_baseline]
    _check_comparison(comparison)
    uncertainty = read_json(versioned(folder / "uncertainty.json", version))
    description = read_json(versioned(folder / "run_description.json", version))
    training = pd.read_parquet(versioned(folder / "training_table.parquet", version))
    page = versioned(folder / "report.html", version)
    corpus = folder.parents[2] / "03_primary" / folder.parent.name / "corpus_table.csv"
    return {
        "dataset": folder.parent.name,
        "recipe": folder.name,
        "version": version,
        **{key: description[key] for key in ("command", "commit", "dirty", "versions")},
        "cores": os.cpu_count(),
        "busy": busy,
        "seconds": _duration(version, page),
        "test_documents": _test_documents(corpus),
        **{key: uncertainty[key] for key in ("reference", "resamples", "confidence")},
        "losses": _loss_rows(comparison, uncertainty["losses"], training),
        "baselines": _baseline_rows(everything[is_baseline]),
    }


def _check_comparison(comparison: pd.DataFrame) -> None:
    mismatched = comparison.loc[comparison["differs"].notna(), "loss"]
    if len(mismatched):
        raise ValueError(f"the newest report has other conditions for {', '.join(mismatched)}")


def newest_version(dataset: Path) -> str:
    """The name of the newest version folder of a versioned dataset."""
    versions = [path.name for path in dataset.glob("*Z") if path.is_dir()]
    if not versions:
        raise FileNotFoundError(f"{dataset} has no version: run kedro run first")
    return max(versions)


def versioned(dataset: Path, version: str) -> Path:
    """The file of a version, such as metrics.json/<version>/metrics.json."""
    path = dataset / version / dataset.name
    if not path.is_file():
        raise FileNotFoundError(f"{path} is missing: time a whole run, kedro run --fresh")
    return path


def _duration(version: str, page: Path) -> int:
    """Seconds from the start of the run, which its version tells, to the saved report page."""
    start = datetime.strptime(version, "%Y-%m-%dT%H.%M.%S.%fZ").replace(tzinfo=UTC)
    return round(page.stat().st_mtime - start.timestamp())


def _test_documents(corpus_table: Path) -> int:
    table = pd.read_csv(versioned(corpus_table, newest_version(corpus_table)))
    return int(table.loc[table["split"] == "test", "instances"].iloc[0])


def _loss_rows(
    comparison: pd.DataFrame, uncertainty: Results, training: pd.DataFrame
) -> list[Results]:
    """A row per loss, best first."""
    minutes, marks = training.groupby("loss")["minutes"].max(), marked_losses(comparison)
    rows = [
        {
            "loss": row["loss"],
            "seeds": int(row["seeds"]),
            "mark": marks.get(row["loss"]),
            **{metric: _interval(uncertainty[row["loss"]][metric]) for metric in METRICS},
            "best_epoch": round(row["best_epoch"], 1),
            "seconds": round(60 * minutes[row["loss"]], 1),
        }
        for row in comparison.to_dict("records")
    ]
    return sorted(rows, key=lambda row: -row[RANKED_BY]["value"])


def _baseline_rows(comparison: pd.DataFrame) -> list[Results]:
    """A row per baseline, best first."""
    rows = [
        {"baseline": row["loss"], RANKED_BY: round(row[RANKED_BY], 6)}
        for row in comparison.to_dict("records")
    ]
    return sorted(rows, key=lambda row: -row[RANKED_BY])


def _interval(cell: Results) -> Results:
    """A metric with its interval, and the Holm-corrected p against the reference."""
    return {
        key: None if cell[key] is None else round(cell[key], 6)
        for key in ("value", "low", "high", "p", "p_holm")
    }


def write(run: Run, *, busy: bool) -> None:
    """Collect a run into its file."""
    text = json.dumps(collect(run, busy=busy), indent=1) + "\n"
    run.file.write_text(text, encoding="utf-8")


def overview(runs: Mapping[str, Run]) -> Iterator[str]:
    """A line per run, and how long it takes to do what is missing."""
    open_minutes = 0.0
    for run in runs.values():
        missing = run.missing()
        open_minutes += run.minutes if missing else 0
        state = f"missing: {missing} ({run.minutes:g} min)" if missing else "there"
        yield f"{run.name:22} {state}"
    yield f"to do: {open_minutes / 60:.1f} hours on two cores"


def render_pages() -> None:
    """Tables, docs/choosing.md and README, from the JSON."""
    paper_tables.PAGE.write_text(paper_tables.render(), encoding="utf-8")
    choosing_docs.main()
    readme.main([])


def main() -> int:
    """Exit status: 1 if a run failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="run nothing")
    parser.add_argument("--page", action="store_true", help="tables and README alone")
    parser.add_argument("--only", metavar="NAME", help="run this one, there or not")
    parser.add_argument("--collect", metavar="NAME", help="keep the newest report of this one")
    parser.add_argument("--busy", action="store_true", help="the machine had other work meanwhile")
    options = parser.parse_args()
    runs = read_runs()
    for name in filter(None, (options.only, options.collect)):
        if name not in runs:
            parser.error(f"unknown run '{name}'; there are {', '.join(runs)}")
    failed = 0
    if options.collect:
        write(runs[options.collect], busy=options.busy)
    elif not (options.page or options.list):
        chosen = [runs[options.only]] if options.only else [r for r in runs.values() if r.missing()]
        failed = sum(_run(run, busy=options.busy) for run in chosen)
    if options.list:
        print("\n".join(overview(runs)))  # noqa: T201
    else:
        render_pages()
    return int(failed > 0)


def _run(run: Run, *, busy: bool) -> bool:
    """Fetch, train and collect; whether it failed."""
    kedro = [sys.executable, "-m", "kedro"]
    print(f"kedro {' '.join(run.words)}: about {run.minutes:g} minutes", flush=True)  # noqa: T201
    for words in (["fetch", run.dataset], run.words):
        if subprocess.run([*kedro, *words], cwd=ROOT, check=False).returncode:  # noqa: S603
            print(f"{run.name} failed; the others go on", file=sys.stderr)  # noqa: T201
            return True
    write(run, busy=busy)
    return False


if __name__ == "__main__":
    sys.exit(main())
