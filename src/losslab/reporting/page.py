"""The report page: one file that opens offline, styles, scripts and all."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from plotly import graph_objects as go
from plotly.offline import get_plotlyjs

from losslab.reporting.answers import find_answers
from losslab.reporting.decisions import list_decisions
from losslab.reporting.definitions import COLUMNS, METRICS, TERMS
from losslab.reporting.mistakes import list_mistakes, tell_undefined
from losslab.reporting.rows import FACTS, list_rows
from losslab.reporting.style import GROUP_COLOURS
from losslab.reporting.table import show, unlike

STYLES = ("colours.css", "page.css", "table.css", "figures.css")
SCRIPTS = ("choice.js", "table.js", "traces.js", "figures.js", "errors.js")
SHOWN = (
    "micro_f1",
    "macro_f1",
    "head/macro_f1",
    "medium/macro_f1",
    "tail/macro_f1",
    "average_precision",
)
"""Columns a reader finds open; the others are a click away."""
AT_FIRST = 5
"""Losses in colour when the page opens, the best ones, besides the reference."""
MOST_LABELS = 600
"""Labels of the scatter plot, spread evenly over their frequencies where there are more."""


@dataclass(frozen=True)
class CorpusPart:
    """What the page tells of the corpus: its table, sentences on what is odd, figures."""

    table: pd.DataFrame
    remarks: Sequence[str]
    figures: Mapping[str, go.Figure]


@dataclass(frozen=True)
class ResultPart:
    """What was measured.

    Args:
        comparison: a row per loss, see ``compare``; ``differs``, where there is such a column, tells
            why a loss cannot be compared with the others.
        standings: a row per loss and metric, see ``stand``.
        facts: ``minutes`` and ``calibration_error`` by loss.
        label_scores: ``label group train`` and a column of F1 per loss.
        figures: by name; traces and rows that belong to a loss say so in their ``meta``.
        reference: the loss that others are compared with, if it ran.
        interval: what the intervals of the standings are.
        rules: what each decision rule gives, see ``tabulate_rules``.
        errors: by loss, see ``losslab.evaluation``'s error analysis.
    """

    comparison: pd.DataFrame
    standings: pd.DataFrame
    facts: pd.DataFrame
    label_scores: pd.DataFrame
    figures: Mapping[str, go.Figure]
    reference: str | None = None
    interval: str = "mean ± standard deviation over seeds"
    rules: pd.DataFrame | None = None
    errors: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class RunPart:
    """Where the page comes from: names, label statistics, source, versions, pages to link to."""

    dataset: str
    recipe: str
    statistics: Mapping[str, Any]
    command: str = ""
    commit: str = ""
    dirty: bool | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)


def render_page(results: ResultPart, corpus: CorpusPart, run: RunPart) -> str:
    """The page."""
    environment = Environment(
        loader=PackageLoader("losslab.reporting", "template"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["show"] = show
    rows = list_rows(results.comparison, results.standings, results.facts)
    return environment.get_template("report.html.j2").render(
        run=run,
        corpus=corpus,
        results=results,
        rows=rows,
        interval=results.interval,
        decisions=_decisions(results),
        likeliest=results.rules is not None and bool((results.rules["rule"] == "likeliest").any()),
        undefined=tell_undefined(results.comparison),
        tested=bool(results.standings["p"].notna().any()),
        answers=find_answers(results.standings, results.reference),
        compared=len(rows) - len(unlike(results.comparison)),
        seeds=_describe_seeds(results.comparison),
        several_seeds=bool((results.comparison["seeds"] > 1).any()),
        columns={**COLUMNS, **{key: TERMS[key].name for key in FACTS}},
        shown=SHOWN,
        definitions={**METRICS, **TERMS},
        families=sorted({row["family"] for row in rows if row["family"]}),
        data=_as_json(_page_data(results, corpus)),
        inline=_inline,
        styles=STYLES,
        scripts=SCRIPTS,
        plotly=Markup(get_plotlyjs()),  # noqa: S704
    )


def _decisions(results: ResultPart) -> dict[str, Any]:
    if results.rules is None:
        return {"rules": [], "rows": []}
    return list_decisions(results.rules, results.comparison["loss"].tolist())


@cache
def _inline(name: str) -> Markup:
    """A style sheet or script as it stands in the template folder."""
    text = files("losslab.reporting").joinpath("template", name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704


def _page_data(results: ResultPart, corpus: CorpusPart) -> dict[str, Any]:
    """What the scripts read: figures, labels' scores, losses in order, those shown at first."""
    losses = results.comparison["loss"].tolist()
    others = {results.reference, *unlike(results.comparison)}
    best = [name for name in losses if name not in others][:AT_FIRST]
    reference = [results.reference] if results.reference in losses else []
    step = -(-len(results.label_scores) // MOST_LABELS)
    figures = {**results.figures, **corpus.figures}
    return {
        "losses": losses,
        "reference": results.reference,
        "atFirst": [*best, *reference],
        "groups": GROUP_COLOURS,
        "labels": results.label_scores.iloc[:: max(step, 1)].round(4).to_dict("list"),
        "errors": {loss: list_mistakes(own) for loss, own in results.errors.items()},
        "figures": {name: _plain(figure) for name, figure in figures.items()},
    }


def _plain(figure: go.Figure) -> dict[str, Any]:
    """A figure without the template, which the page has its own styles for."""
    plain: dict[str, Any] = json.loads(figure.to_json())
    plain["layout"].pop("template", None)
    return plain


def _as_json(data: Mapping[str, Any]) -> Markup:
    """Data that cannot end the element it stands in."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704


def _describe_seeds(table: pd.DataFrame) -> str:
    """How many seeds stand behind each row, told once where it is the same for all."""
    fewest, most = table["seeds"].min(), table["seeds"].max()
    each = f"{fewest} to {most}" if fewest < most else f"{most}"
    return f"{each} seed{'s' if most > 1 else ''} each"
