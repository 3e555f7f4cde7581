"""Writes the measured part of docs/choosing.md from the summaries of runs in docs/results.

``python tools/choosing_docs.py`` rewrites the part between the marks; every file there with losses, as
``tools/readme.py`` writes one, has its section. A test compares the two.
"""

import json
import re
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import Any

from losslab.losses import LOSSES

DOCS = Path(__file__).parents[1] / "docs"
PAGE = DOCS / "choosing.md"
MARKED = re.compile(r"(<!-- results -->\n).*(<!-- /results -->)", flags=re.DOTALL)
RANKED_BY = "macro_f1"
METRICS = {"macro_f1": "macro-F1 (95%)", "tail/macro_f1": "tail macro-F1", "micro_f1": "micro-F1"}
SIGNIFICANT = 0.05
Results = dict[str, Any]


def main() -> None:
    PAGE.write_text(render(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def render(current: str) -> str:
    """The page, with a section for each summary."""
    summaries = [json.loads(file.read_text()) for file in sorted((DOCS / "results").glob("*.json"))]
    sections = [section(summary) for summary in summaries if "losses" in summary]
    if not MARKED.search(current):
        raise ValueError(f"{PAGE.name} lacks the marks <!-- results --> and <!-- /results -->")
    return MARKED.sub(lambda marks: marks[1] + "\n" + "\n".join(sections) + marks[2], current)


def section(results: Results) -> str:
    """One run: what was compared, the best loss of each family, what is significant."""
    rows = sorted(results["losses"], key=lambda row: -row[RANKED_BY]["value"])
    reference = next(row for row in rows if row["loss"] == results["reference"])
    seeds = max(row["seeds"] for row in rows)
    return "\n".join(
        [
            f"### {results['dataset']}, recipe {results['recipe']}\n",
            f"{len(rows)} losses, seeds: {seeds}, {results['test_documents']} test documents; "
            f"commit `{results['commit'][:7]}`, torch {results['versions']['torch']}. "
            "The best loss of each family by macro-F1:\n",
            *family_table(rows, reference),
            "",
            verdict(rows, results),
            "",
        ]
    )


def family_table(rows: list[Results], reference: Results) -> Iterable[str]:
    """A row per family, best first."""
    yield f"| family | best | {' | '.join(METRICS.values())} | training, times `{reference['loss']}` |"
    yield "|---|---|" + "---|" * (len(METRICS) + 1)
    by_family = sorted(rows, key=_family)  # stable: within a family by rank
    best = [next(members) for _, members in groupby(by_family, key=_family)]
    for row in sorted(best, key=rows.index):
        values = [f"{row[metric]['value']:.3f}" for metric in METRICS]
        values[0] += f" ({row[RANKED_BY]['low']:.3f} to {row[RANKED_BY]['high']:.3f})"
        ratio = row["seconds"] / reference["seconds"]
        yield f"| {_family(row)} | {_named([row])} | {' | '.join(values)} | {ratio:.1f} |"


def _family(row: Results) -> str:
    return LOSSES[row["loss"]].family


def verdict(rows: list[Results], results: Results) -> str:
    """What the tests say, and the baselines."""
    reference = results["reference"]
    centre = next(row for row in rows if row["loss"] == reference)[RANKED_BY]["value"]
    told = [row for row in rows if not row["mark"] and _is_significant(row)]
    better = [row for row in told if row[RANKED_BY]["value"] > centre]
    worse = [row for row in told if row[RANKED_BY]["value"] < centre]
    stopped = [row for row in rows if row["mark"]]
    lines = [
        f"- Significantly better than `{reference}` by macro-F1 (paired bootstrap, Holm): "
        f"{_named(better)}.",
        f"- Significantly worse: {_named(worse)}.",
        f"- Stopped before they had learned, so not tested: {_named(stopped)}.",
    ]
    if results["baselines"]:
        top = max(results["baselines"], key=lambda row: row[RANKED_BY])
        lines.append(
            f"- The best loss has {rows[0][RANKED_BY]['value']:.3f} macro-F1, `{reference}` "
            f"{centre:.3f}, the best [baseline](baselines.md) on word counts, `{top['baseline']}`, "
            f"{top[RANKED_BY]:.3f}."
        )
    return "\n".join(lines)


def _is_significant(row: Results) -> bool:
    p = row[RANKED_BY]["p_holm"]
    return p is not None and p < SIGNIFICANT


def _named(rows: Iterable[Results]) -> str:
    return ", ".join(f"`{row['loss']}`" for row in rows) or "none"


if __name__ == "__main__":
    main()
