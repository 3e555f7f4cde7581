"""The report page: one file that opens offline, script and all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined
from plotly import graph_objects as go
from plotly.offline import get_plotlyjs

from losslab.reporting.table import COLUMNS, show

LOWER_IS_BETTER = ("ranking_loss",)


@dataclass(frozen=True)
class CorpusPart:
    """What the page tells of the corpus: its table, sentences on what is odd, figures."""

    table: pd.DataFrame
    remarks: Sequence[str]
    figures: Mapping[str, go.Figure]


def render_page(
    table: pd.DataFrame,
    figures: Mapping[str, go.Figure],
    *,
    dataset: str,
    recipe: str,
    statistics: Mapping[str, Any],
    titles: Mapping[str, str],
    corpus: CorpusPart,
) -> str:
    """The page for a comparison table and its figures; ``titles`` spell the losses' names out."""
    environment = Environment(
        loader=PackageLoader("losslab.reporting", "."), autoescape=True, undefined=StrictUndefined
    )
    environment.filters["show"] = show
    return environment.get_template("page.html.j2").render(
        dataset=dataset,
        recipe=recipe,
        statistics=statistics,
        titles=titles,
        columns=COLUMNS,
        rows=table.to_dict("records"),
        seeds=_describe_seeds(table),
        several_seeds=bool((table["seeds"] > 1).any()),
        best=_best_rows(table),
        figures=list(figures),
        corpus=corpus,
        drawn={name: figure.to_json() for name, figure in {**figures, **corpus.figures}.items()},
        plotly=get_plotlyjs(),
    )


def _describe_seeds(table: pd.DataFrame) -> str:
    """How many seeds stand behind each row, told once where it is the same for all."""
    fewest, most = table["seeds"].min(), table["seeds"].max()
    each = f"{fewest} to {most}" if fewest < most else f"{most}"
    return f"{each} seed{'s' if most > 1 else ''} each"


def _best_rows(table: pd.DataFrame) -> dict[str, int]:
    """Row of the best value of each metric."""
    return {
        key: int(table[key].idxmin() if key in LOWER_IS_BETTER else table[key].idxmax())
        for key in COLUMNS
    }
