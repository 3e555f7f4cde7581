"""The report page: one HTML file with styles, scripts and data, to be opened offline."""

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

from losslab.baselines import BASELINES
from losslab.reporting.about_losses import about_losses
from losslab.reporting.best_losses import find_best_losses
from losslab.reporting.comparison import incomparable_losses, marked_losses
from losslab.reporting.definitions import (
    COLUMNS,
    FACTS,
    METRICS,
    MORE_METRICS,
    SHOWN_COLUMNS,
    TERMS,
    lower_is_better,
)
from losslab.reporting.page_sections import (
    confusion_rows,
    describe_decision,
    describe_undefined,
    error_tables,
    loss_rows,
    own_rows,
    primary_rules,
    rule_rows,
    tabulate_rules,
)
from losslab.reporting.plots import CORPUS_PLOTS, GROUP_COLOURS, RESULT_PLOTS, Plot, literal

STYLES = ("colours.css", "page.css", "table.css", "figures.css")
SCRIPTS = ("choice.js", "table.js", "export.js", "traces.js", "figures.js", "errors.js")
SELECTED_AT_FIRST = 5
"""Losses in colour when the page opens, the best ones, besides the reference."""
MAX_LABELS = 600
"""Labels of the scatter plot, spread evenly over their frequencies where there are more."""


CORPUS_COLUMNS = {
    "instances": "{:,}",
    "average_words": "{:.0f}",
    "categories": "{:,}",
    "cardinality": "{:.3f}",
    "median_cardinality": "{:g}",
    "density": "{:.3f}",
    "instances_per_label": "{:,.1f}",
    "median_instances_per_label": "{:g}",
}
"""Columns of the corpus table and their format; documents by number of labels follow."""


@dataclass(frozen=True)
class CorpusPart:
    """The corpus: its table, remarks on what is unusual, plots by name."""

    table: pd.DataFrame
    remarks: Sequence[str]
    plots: Mapping[str, go.Figure]


@dataclass(frozen=True)
class ResultPart:
    """The results.

    Args:
        comparison: a row per loss, see ``comparison_table``; ``differs``, where there is such a
            column, says why a loss is not comparable, ``mark`` why it had not learned.
        standings: a row per loss and metric, see ``build_standings``.
        facts: ``minutes`` and ``selection`` by loss, see ``loss_facts``.
        label_scores: ``label group train`` and a column of F1 per loss.
        plots: by name; traces and rows that belong to a loss say so in their ``meta``.
        reference: the loss that others are compared with, if it ran.
        interval: what the intervals of the standings are.
        rules: metrics by decision rule, see ``tabulate_rules``.
        errors: error analyses by loss, see ``analyse_errors``.
        confusions: pairs of labels over all losses, see ``pool_confusions``.
        cases: documents that some losses predict differently, see ``find_cases``.
        diagnosis: findings in words, see ``diagnose``.
        options: the values that hyperparameters had, by loss.
    """

    comparison: pd.DataFrame
    standings: pd.DataFrame
    facts: pd.DataFrame
    label_scores: pd.DataFrame
    plots: Mapping[str, go.Figure]
    reference: str | None = None
    interval: str = "mean ± standard deviation over seeds"
    rules: pd.DataFrame | None = None
    errors: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    confusions: pd.DataFrame | None = None
    cases: Mapping[str, Any] = field(default_factory=dict)
    diagnosis: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class RunPart:
    """Provenance: names, label statistics, source, versions, a page of soft labels, failed losses."""

    dataset: str
    recipe: str
    statistics: Mapping[str, Any]
    command: str = ""
    commit: str = ""
    dirty: bool | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    soft_labels_page: bool = False
    failed: Mapping[str, str] = field(default_factory=dict)


def render_page(results: ResultPart, corpus: CorpusPart, run: RunPart) -> str:
    """The page as HTML."""
    return (
        page_environment()
        .get_template("report.html.j2")
        .render(
            run=run,
            corpus=corpus,
            corpus_columns=CORPUS_COLUMNS,
            bands=[name for name in corpus.table if name not in ("split", *CORPUS_COLUMNS)],
            results=results,
            cases=results.cases if results.cases.get("cases") else None,
            **_tables(results, f"kedro run --dataset={run.dataset} --recipe={run.recipe}"),
            columns={**COLUMNS, **{key: term.name for key, term in FACTS.items()}},
            shown=SHOWN_COLUMNS,
            definitions={**METRICS, **MORE_METRICS, **TERMS},
            lower_is_better=lower_is_better,
            interval=results.interval,
            plots_by_topic=_plots_by_topic(results.plots),
            corpus_plots=CORPUS_PLOTS,
            data=as_json(_page_data(results, corpus, f"{run.dataset}_{run.recipe}")),
            scripts=SCRIPTS,
        )
    )


def page_environment() -> Environment:
    """Templates of pages, with styles and Plotly's script; text from data is escaped."""
    from plotly.offline import get_plotlyjs  # imports IPython, which no other command needs

    environment = Environment(
        loader=PackageLoader("losslab.reporting", "template"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    plotly = Markup(get_plotlyjs())  # noqa: S704
    environment.globals.update(inline=inline, styles=STYLES, plotly=plotly)
    return environment


def _plots_by_topic(figures: Mapping[str, go.Figure]) -> dict[str, dict[str, Plot]]:
    """What the page shows of ``figures``: those that have something to show."""
    topics: dict[str, dict[str, Plot]] = {}
    for name, plot in RESULT_PLOTS.items():
        if figures[name].data:
            topics.setdefault(plot.topic, {})[name] = plot
    return topics


def _tables(results: ResultPart, command: str) -> dict[str, Any]:
    """What the sections on results show."""
    losses = results.comparison["loss"].tolist()
    twins = results.diagnosis.get("identical", {})
    rows = loss_rows(results.comparison, results.standings, results.facts, command, twins)
    trained, left_out = (
        _without_baselines(results.comparison),
        incomparable_losses(results.comparison),
    )
    rules = tabulate_rules({}) if results.rules is None else results.rules
    return {
        "rows": rows,
        "about": about_losses({loss: results.options.get(loss, {}) for loss in losses}),
        "findings": results.diagnosis.get("findings", []),
        "suspects": results.diagnosis.get("suspects", []),
        "rules": rule_rows(rules, losses),
        "own": own_rows(rules, losses),
        "confusions": confusion_rows(results.confusions),
        "decision": describe_decision(results.comparison),
        "primary_rule": (primary_rules(results.comparison) or ["tuned"])[0],
        "undefined": describe_undefined(results.comparison),
        "tested": bool(results.standings["p"].notna().any()),
        "best_losses": find_best_losses(_without_baselines(results.standings), results.reference),
        "baselines": [row for row in rows if row["loss"] in BASELINES],
        "compared": len(trained) - len(set(left_out) - set(BASELINES)),
        "incomparable": len(left_out),
        "marked": list(marked_losses(results.comparison)),
        "seeds": _describe_seeds(trained),
        "several_seeds": bool((results.comparison["seeds"] > 1).any()),
        "families": sorted({row["family"] for row in rows if row["family"]}),
    }


def _without_baselines(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of losses; all rows, if no loss was finished."""
    trained = table[~table["loss"].isin(list(BASELINES))]
    return table if trained.empty else trained


@cache
def inline(name: str) -> Markup:
    """A style sheet or script as it stands in the template folder."""
    text = files("losslab.reporting").joinpath("template", name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704


def _page_data(results: ResultPart, corpus: CorpusPart, name: str) -> dict[str, Any]:
    """What the scripts read: plots, labels' F1, losses in order, those selected at first.

    ``name`` is that of files which a reader exports.
    """
    losses = results.comparison["loss"].tolist()
    others = {results.reference, *incomparable_losses(results.comparison)}
    best = [name for name in losses if name not in others][:SELECTED_AT_FIRST]
    reference = [results.reference] if results.reference in losses else []
    step = -(-len(results.label_scores) // MAX_LABELS)
    labels = results.label_scores.iloc[:: max(step, 1)].round(4)
    plots = {**results.plots, **corpus.plots}
    return {
        "losses": losses,
        "table": name,
        "reference": results.reference,
        "atFirst": [*best, *reference],
        "groups": GROUP_COLOURS,
        "labels": labels.assign(label=labels["label"].map(literal)).to_dict("list"),
        "errors": {loss: error_tables(errors) for loss, errors in results.errors.items()},
        "figures": {name: plot_as_json(plot) for name, plot in plots.items() if plot.data},
    }


def plot_as_json(figure: go.Figure) -> dict[str, Any]:
    """A figure as JSON; the page has styles of its own."""
    content: dict[str, Any] = json.loads(figure.to_json())
    content["layout"].pop("template", None)
    return content


def as_json(data: Mapping[str, Any]) -> Markup:
    """JSON that cannot end the script element it is embedded in."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704


def _describe_seeds(table: pd.DataFrame) -> str:
    """The number of seeds per loss, or its range."""
    fewest, most = table["seeds"].min(), table["seeds"].max()
    each = f"{fewest} to {most}" if fewest < most else f"{most}"
    return f"{each} seed{'s' if most > 1 else ''} each"
