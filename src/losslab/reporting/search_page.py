"""A search of hyperparameters: its best settings, the table of tuned against default, its page.

``searches`` are what each loss's search gave. Results are those of a sweep of two points, default and
tuned, with the searches by loss: ``search``. A loss whose search failed is absent.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
import yaml
from plotly import graph_objects as go

from losslab.parameters import namespace
from losslab.parameters.sweeps import show_value
from losslab.reporting.comparison import format_mean_std, markdown_table
from losslab.reporting.definitions import METRICS, lower_is_better
from losslab.reporting.report_page import as_json, page_environment, plot_as_json
from losslab.reporting.sweep_page import SweepRunPart, by_seed, summarise

DEFAULT, TUNED = "default", "tuned"
"""The points of the comparison."""
STATES = ("complete", "pruned", "failed")


def best_settings(search: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a loss's best trial; none where that is the default."""
    best: dict[str, Any] = search["best"]["settings"] if search["best"]["number"] else {}
    return best


def best_as_yaml(searches: Iterable[Mapping[str, Any]]) -> str:
    """The best settings of every loss, as a file of ``conf/datasets`` has them."""
    lines = [
        "# Best settings by validation: kedro run --params-file=<this file>, or paste it into the"
    ]
    lines += ["# dataset's file in conf/datasets."]
    for search in searches:
        name, settings = namespace(search["loss"]), best_settings(search)
        told = f"{search['best']['value']:.4f} in {len(search['trials'])} trials"
        if not settings:
            lines += [f"# {name}: the default is best, {told}"]
            continue
        default = search["default"]["value"]
        before = "failed" if default is None else f"{default:.4f}"
        lines += [
            f"# {search['metric']} {told} (trial {search['best']['number']}); default: {before}"
        ]
        lines += [yaml.safe_dump({name: settings}, sort_keys=False).rstrip()]
    return "\n".join([*lines, ""])


def tabulate_search(results: Mapping[str, Any], confidence: float) -> pd.DataFrame:
    """A row per loss, in the order of tuned test means.

    Columns: ``loss``, the numbers of trials by state, ``settings`` and ``mark`` of the best trial;
    ``validation_default validation_tuned``, one training each; on test, over seeds, ``default tuned``
    with ``_std``, and ``gain`` (tuned minus default with the same seed) with its Student's t
    interval ``gain_low gain_high``; ranks of all four by ``rank_``.
    """
    rows = [_row(search, results, confidence) for search in results["search"].values()]
    table, ascending = pd.DataFrame(rows), lower_is_better(results["metric"])
    for name in ("validation_default", "validation_tuned", DEFAULT, TUNED):
        ranks = table[name].astype(float).rank(ascending=ascending, method="min")
        table[f"rank_{name}"] = ranks.astype("Int64")
    return table.sort_values(f"rank_{TUNED}", kind="stable", ignore_index=True)


def _row(
    search: Mapping[str, Any], results: Mapping[str, Any], confidence: float
) -> dict[str, Any]:
    states = [trial["state"] for trial in search["trials"]]
    points = {job["label"]: job["metrics"].get(search["loss"], {}) for job in results["jobs"]}
    default, tuned = (by_seed(points.get(at, {}), results["metric"]) for at in (DEFAULT, TUNED))
    gains = [tuned[seed] - default[seed] for seed in tuned if seed in default]
    facts = {
        name: summarise(list(values), confidence)
        for name, values in (
            (DEFAULT, default.values()),
            (TUNED, tuned.values()),
            ("gain", gains),
        )
    }
    return {
        "loss": search["loss"],
        "trials": len(states),
        **{state: states.count(state) for state in STATES},
        "settings": describe_settings(best_settings(search)) or DEFAULT,
        "mark": search["best"].get("mark") or "",
        "validation_default": search["default"]["value"],
        "validation_tuned": search["best"]["value"],
        "seeds": len(tuned),
        **{
            f"{name}{end}": facts[name][fact]
            for name in (DEFAULT, TUNED)
            for end, fact in (("", "mean"), ("_std", "std"))
        },
        **{
            f"gain{end}": facts["gain"][fact]
            for end, fact in (("", "mean"), ("_low", "low"), ("_high", "high"))
        },
    }


def describe_settings(settings: Mapping[str, Any]) -> str:
    """Settings in words.

    >>> describe_settings({"gamma": 1.23456, "mu": "auto"})
    'gamma = 1.235, mu = auto'
    """
    shown = {
        name: f"{value:.4g}" if isinstance(value, float) else show_value(value)
        for name, value in settings.items()
    }
    return ", ".join(f"{name} = {value}" for name, value in shown.items())


def describe_order(table: pd.DataFrame, split: str = "test") -> dict[str, Any]:
    """Whether the order of losses changes: both orders, Kendall's tau, pairs that swap.

    ``split``: validation or test. A loss that lacks one of both results is left out.
    """
    prefix = "validation_" if split == "validation" else ""
    names = [f"rank_{prefix}{point}" for point in (DEFAULT, TUNED)]
    rows = table.dropna(subset=names)
    ranks = [rows[name].astype(int).tolist() for name in names]
    count = len(rows)
    pairs = [(i, j) for i in range(count) for j in range(i)]
    swapped = sum((ranks[0][i] - ranks[0][j]) * (ranks[1][i] - ranks[1][j]) < 0 for i, j in pairs)
    return {
        DEFAULT: _order(rows, names[0]),
        TUNED: _order(rows, names[1]),
        "tau": float(rows[names[0]].corr(rows[names[1]], "kendall")) if count > 1 else float("nan"),
        "swapped": swapped,
        "pairs": len(pairs),
    }


def _order(rows: pd.DataFrame, rank: str) -> str:
    """Losses from best to worst: ``db > bce = asl``."""
    ties = rows.groupby(rank, sort=True)["loss"]
    return " > ".join(" = ".join(losses) for _, losses in ties)


def search_to_markdown(table: pd.DataFrame, metric: str) -> str:
    """A row per loss: default and tuned on test, the gain, ranks; below it, what becomes of the
    order."""
    header = ["loss", f"default, {METRICS[metric].name}", "tuned", "gain", "rank", "settings"]
    body = [[row[name] for name in ("loss", *CELLS, "settings")] for row in _shown_rows(table)]
    return "\n".join([markdown_table(header, body), "", *order_lines(table)])


def order_lines(table: pd.DataFrame) -> list[str]:
    """What becomes of the order of losses, on validation and on test."""
    lines = []
    for split in ("validation", "test"):
        order = describe_order(table, split)
        change = f"{order['swapped']} of {order['pairs']} pairs swap, tau {order['tau']:.2f}"
        told = "unchanged" if order[DEFAULT] == order[TUNED] else change
        lines.append(f"{split}: {order[DEFAULT]}; tuned: {order[TUNED]} ({told})")
    return lines


CELLS = (DEFAULT, TUNED, "gain", "rank")


def _shown_rows(table: pd.DataFrame) -> list[dict[str, str]]:
    """The cells of a table as text."""
    return [
        {
            "loss": row["loss"],
            "settings": row["settings"],
            "mark": row["mark"] if isinstance(row["mark"], str) else "",
            "trials": ", ".join(f"{row[state]} {state}" for state in STATES if row[state]),
            "validation": " → ".join(
                format_mean_std(row[f"validation_{point}"], None) for point in (DEFAULT, TUNED)
            ),
            **{
                point: format_mean_std(row[point], row[f"{point}_std"])
                for point in (DEFAULT, TUNED)
            },
            "gain": _gain(row),
            "rank": " → ".join(_rank(row[f"rank_{point}"]) for point in (DEFAULT, TUNED)),
        }
        for _, row in table.iterrows()
    ]


def _gain(row: pd.Series) -> str:
    if pd.isna(row["gain"]):
        return "-"
    low, high = row["gain_low"], row["gain_high"]
    return f"{row['gain']:+.3f}" + ("" if pd.isna(low) else f" [{low:+.3f}, {high:+.3f}]")


def _rank(value: Any) -> str:
    return "-" if pd.isna(value) else str(int(value))


def render_search(
    table: pd.DataFrame, plot: go.Figure, results: Mapping[str, Any], run: SweepRunPart
) -> str:
    """The page as HTML."""
    failed: dict[str, str] = dict(results["failed"])
    failed |= {job["label"]: job["failed"] for job in results["jobs"] if job["failed"]}
    searches: Sequence[Mapping[str, Any]] = list(results["search"].values())
    return (
        page_environment()
        .get_template("search.html.j2")
        .render(
            run=run,
            results=results,
            metric=METRICS[results["metric"]],
            rows=_shown_rows(table),
            order=order_lines(table),
            orders={split: describe_order(table, split) for split in ("validation", "test")},
            failed=failed,
            seeds=" or ".join(map(str, sorted(set(table["seeds"])))),
            trials=len(searches[0]["trials"]),
            yaml=best_as_yaml(searches),
            data=as_json({"figures": {"search": plot_as_json(plot)}}),
        )
    )
