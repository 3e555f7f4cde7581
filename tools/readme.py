"""Writes the generated blocks of README.md from docs/results/cwe_probe.json and ``LOSSES``.

``--check`` writes nothing and exits 1 if the README is out of step. tools/results.py makes the JSON.
``--time "kedro run --pipelines=db_loss"`` runs a command and notes in docs/results/times.json how
long it took.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from losslab.losses import LOSSES, Loss
from losslab.parameters import losses_for_task

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
RESULTS = ROOT / "docs" / "results" / "cwe_probe.json"
TIMES = RESULTS.with_name("times.json")
"""What other commands took: by command, seconds, cores, commit, and what to know."""
METRICS = {"micro_f1": "micro-F1", "macro_f1": "macro-F1", "tail/macro_f1": "tail macro-F1"}
RANKED_BY = "macro_f1"
SHOWN = 10
WIDTH = 120
SIGNIFICANT = 0.05
OUT_OF_STEP = "README.md is not what its results give; run: python tools/readme.py"
Results = dict[str, Any]


def main(arguments: list[str] | None = None) -> str | None:
    """Why to exit with 1: ``--check`` found the README out of step."""
    options = _parse(arguments)
    if options.time:
        note_time(options.time, busy=options.busy, about=options.about)
    current = README.read_text(encoding="utf-8")
    expected = render(current, json.loads(RESULTS.read_text(encoding="utf-8")))
    if options.check:
        return OUT_OF_STEP if current != expected else None
    README.write_text(expected, encoding="utf-8")
    return None


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--busy", action="store_true", help="the machine had other work meanwhile")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="write nothing, exit 1 on a difference")
    mode.add_argument("--time", metavar="COMMAND", help="run a command and note how long it took")
    parser.add_argument("--about", default="", help="with --time: what to know about the command")
    return parser.parse_args(arguments)


def note_time(command: str, *, busy: bool, about: str) -> None:
    """Run a command in the project, and note how long it took."""
    start = perf_counter()
    subprocess.run(shlex.split(command), cwd=ROOT, check=True)  # noqa: S603
    facts = {"seconds": round(perf_counter() - start), "cores": os.cpu_count(), "busy": busy}
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    times = read_json(TIMES) if TIMES.is_file() else {}
    times[command] = {**facts, "commit": commit.stdout.strip(), "about": about}
    TIMES.write_text(json.dumps(times, indent=1) + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def render(current: str, results: Results) -> str:
    """The README with its generated blocks."""
    for name, text in _blocks(results).items():
        marks = re.compile(rf"(<!-- {name}[^>]*-->\n).*(<!-- /{name} -->)", flags=re.DOTALL)
        if not marks.search(current):
            raise ValueError(f"README.md has no block '<!-- {name} -->'")
        current = marks.sub(partial(_fill, text), current)
    return current


def _fill(text: str, marks: re.Match[str]) -> str:
    return f"{marks[1]}\n{text}\n{marks[2]}"


def _blocks(results: Results) -> dict[str, str]:
    return {"answer": answer(results), "costs": costs(results), "families": families()}


def answer(results: Results) -> str:
    """The best losses as a table, and how sure they are."""
    rows, reference = results["losses"], results["reference"]
    shown = [row for i, row in enumerate(rows) if i < SHOWN or row["loss"] == reference]
    percent = f"{results['confidence']:.0%}"
    lines = [
        "| loss | "
        + " | ".join(f"{title} ({percent})" for title in METRICS.values())
        + " | best epoch | training |",
        "|---" * (len(METRICS) + 3) + "|",
        *(_table_row(row) for row in shown),
    ]
    prose = (_caption(results, len(shown)), _certainty(results), _beside(results))
    return "\n\n".join(["\n".join(lines), *(_wrap(text) for text in prose if text)]) + "\n"


def _wrap(text: str) -> str:
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def _table_row(row: Results) -> str:
    cells = [
        f"{cell['value']:.3f} ({cell['low']:.3f} to {cell['high']:.3f})"
        for cell in (row[metric] for metric in METRICS)
    ]
    seconds = f"{row['seconds']:.0f} s"
    return "| " + " | ".join([_named(row), *cells, f"{row['best_epoch']:.0f}", seconds]) + " |"


def _named(row: Results) -> str:
    """The loss; an asterisk where it stopped before it had learned."""
    return f"`{row['loss']}`" + (" \\*" if row.get("mark") else "")


def _caption(results: Results, shown: int) -> str:
    rows, versions = results["losses"], results["versions"]
    seeds = max(row["seeds"] for row in rows)
    which = "one seed" if seeds == 1 else f"{seeds} seeds"
    return (
        f"`{results['command']}`, {shown} of {len(rows)} losses by macro-F1; {which},"
        f" {results['test_documents']} test documents;"
        f" {_minutes(results['seconds'])} on {results['cores']} cores without a GPU{_load(results)}"
        f" (commit `{results['commit'][:7]}`, torch {versions['torch']})."
        " Intervals: bootstrap over test documents."
        " Every loss: [docs/results/cwe_probe.json](docs/results/cwe_probe.json)."
    )


def costs(results: Results) -> str:
    """What commands take, as measured."""
    seeds = max(row["seeds"] for row in results["losses"])
    first = {**results, "about": f"{len(results['losses'])} losses, seeds: {seeds}; first run"}
    rows = {results["command"]: first, **(read_json(TIMES) if TIMES.is_file() else {})}
    lines = [
        f"| `{command}` | {_duration_of(facts)}{_load(facts)} | {facts['about']} |"
        for command, facts in rows.items()
    ]
    head = f"| command | {results['cores']} cores, no GPU | |"
    return "\n".join([head, "|---|---|---|", *lines]) + "\n"


def _duration_of(facts: Results) -> str:
    return _minutes(facts["seconds"]) if facts["seconds"] >= 90 else f"{facts['seconds']} seconds"


def _load(results: Results) -> str:
    return ", on a busy machine" if results["busy"] else ""


def _minutes(seconds: int) -> str:
    minutes = max(1, round(seconds / 60))
    return "1 minute" if minutes == 1 else f"{minutes} minutes"


def _certainty(results: Results) -> str:
    """Which differences to the reference are significant after Holm's correction."""
    reference = results["reference"]
    value = next(r for r in results["losses"] if r["loss"] == reference)[RANKED_BY]["value"]
    better: list[str] = []
    worse: list[str] = []
    for row in results["losses"]:
        cell = row[RANKED_BY]
        if row.get("mark"):
            continue
        if cell["p_holm"] is not None and cell["p_holm"] < SIGNIFICANT:
            (better if cell["value"] > value else worse).append(f"`{row['loss']}`")
    sentence = (
        f"**How sure?** By macro-F1, significantly better than `{reference}`"
        f" (paired bootstrap, Holm): {_listed(better)}; significantly worse: {_listed(worse)}."
    )
    return f"{sentence} {_untrained(results)}{_advice(results, reference)}"


def _beside(results: Results) -> str:
    """What the two best baselines reach, and whether a loss does better."""
    best = results["baselines"][:2]
    if not best:
        return ""
    reached = " and ".join(f"{row[RANKED_BY]:.3f} (`{row['baseline']}`)" for row in best)
    first = results["losses"][0]
    better = first[RANKED_BY]["value"] > best[0][RANKED_BY]
    verdict = "is above that" if better else "has no higher value"
    return (
        "**Beside them:** [baselines](docs/baselines.md) on TF-IDF, without any network, reach"
        f" {reached} macro-F1; the best loss on the frozen encoder, `{first['loss']}`, {verdict}."
        " The TF-IDF settings were fixed with test results in sight, which the losses' were not."
    )


def _untrained(results: Results) -> str:
    """Losses that are not judged, and why."""
    marked = [row["loss"] for row in results["losses"] if row.get("mark")]
    if not marked:
        return ""
    names = _listed([f"`{loss}`" for loss in marked])
    if results["reference"] in marked:
        return (
            f"Stopped before they had learned: {names}; the reference did, so nothing is tested. "
        )
    return f"Stopped before they had learned, so not tested (\\*): {names}. "


def _advice(results: Results, reference: str) -> str:
    seeds = max(row["seeds"] for row in results["losses"])
    few = "one seed, " if seeds == 1 else ""
    return (
        f"So start from `{reference}`, compare three to five losses on your own data, also with"
        " `kedro cross-validate`, and read the order above as a tendency:"
        f" {few}a small test split, and the best of many is always a little lucky."
    )


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "none"


def families() -> str:
    """A row per family of losses with its papers, and how many losses there are."""
    by_family: dict[str, list[type[Loss]]] = {}
    for loss in LOSSES.values():
        by_family.setdefault(loss.family, []).append(loss)
    multi = losses_for_task("multi")
    rest = ", ".join(f"`{name}`" for name in LOSSES if name not in multi)
    lines = ["| family | losses | papers |", "|---|---|---|"]
    lines += [_family_row(family, members) for family, members in by_family.items()]
    total = (
        f"{len(LOSSES)} losses; on multi-label data a run trains {len(multi)}:"
        f" all but {rest}, which is for single-label data."
    )
    return "\n".join([*lines, "", total]) + "\n"


def _family_row(family: str, members: Iterable[type[Loss]]) -> str:
    members = list(members)
    names = ", ".join(f"[`{loss.name}`](docs/losses.md#{anchor(loss)})" for loss in members)
    papers = dict.fromkeys(paper for loss in members for paper in cited(loss.paper))
    return f"| {family} | {names} | {'; '.join(papers)} |"


def cited(paper: str) -> list[str]:
    """The papers of a loss, without equation or section.

    >>> cited("Su et al. 2022, ZLPR, eq. 1; Wu et al. 2019, Tencent ML-Images")
    ['Su et al. 2022, ZLPR', 'Wu et al. 2019, Tencent ML-Images']
    """
    places = re.compile(r", (eq\. |section |A\.|CE\+).*")
    return [places.sub("", part) for part in paper.split("; ") if part != "-"]


def anchor(loss: type[Loss]) -> str:
    """The anchor that GitHub makes of the loss's heading in docs/losses.md."""
    kept = re.sub(r"[^\w\- ]", "", f"{loss.name}: {loss.title}".lower())
    return kept.replace(" ", "-")


if __name__ == "__main__":
    sys.exit(main())
