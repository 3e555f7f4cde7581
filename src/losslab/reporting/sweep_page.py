"""A sweep: its table over points, its figure, its page.

Results are what ``kedro sweep`` saved: the sweep, its axes, and by job the metrics of every loss and
seed. A loss that failed at a point is absent there.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from plotly import graph_objects as go
from scipy.special import stdtrit

from losslab.parameters.sweeps import (
    AT_EACH_POINT,
    BASELINE,
    POINT,
    describe_point,
    short_name,
    show_value,
)
from losslab.reporting.comparison import format_mean_std, markdown_table
from losslab.reporting.definitions import METRICS, lower_is_better
from losslab.reporting.plots import apply_layout, literal
from losslab.reporting.report_page import as_json, page_environment, plot_as_json

MEAN = "mean"
"""The label of the mean over points."""
MANY_TIMES = 20
"""An axis whose largest value is so many times the smallest is logarithmic."""
DODGE = 0.006
"""Between losses at the same point, as a share of the axis."""
LEAST_MARGIN = 0.005
"""Above and below the dots, where all are alike."""
COLOURS = ("#2a7fbf", "#c2417c", "#2e8b57", "#dd9a12", "#7d5ba6", "#8c564b", "#17a2a8")
DASHES = ("solid", "dash", "dashdot", "longdash", "longdashdot")
FACTS = ("mean", "std", "low", "high")
Values = dict[str, float]
"""A metric by seed."""


@dataclass(frozen=True)
class SweepRunPart:
    """Provenance of a sweep: source, versions."""

    command: str = ""
    commit: str = ""
    dirty: bool | None = None
    versions: Mapping[str, str] = field(default_factory=dict)


def tabulate_sweep(results: Mapping[str, Any], confidence: float) -> pd.DataFrame:
    """A row per point, loss and metric, over seeds, and the difference to the baseline.

    Columns: ``label``, one per axis, ``loss metric seeds``, ``mean std low high`` (Student's t
    interval of the mean over seeds), and the same of the difference to the baseline's same seeds:
    at the same point (``gain``, ``dots``), else at its defaults. Dots have the mean over points, too:
    of those where no loss failed, averaged seed by seed.
    """
    jobs, kind = results["jobs"], results["sweep"]["kind"]
    rows = [row for job in jobs for row in _job_rows(job, results, confidence)]
    if kind == "dots":
        rows += _job_rows(_mean_over_points(results), results, confidence)
    facts = [*FACTS, *(f"difference_{name}" for name in FACTS)]
    columns = ["label", *results["axes"], "loss", "metric", "seeds", *facts]
    return pd.DataFrame(rows, columns=columns)


def _job_rows(
    job: Mapping[str, Any], results: Mapping[str, Any], confidence: float
) -> Iterator[dict[str, Any]]:
    baseline = _baseline_metrics(job, results)
    axes = {name: _shown(value) for name, value in job["coordinates"].items()}
    for loss, seeds in job["metrics"].items():
        for metric in METRICS:
            values, others = by_seed(seeds, metric), by_seed(baseline, metric)
            shared = [seed for seed in values if seed in others and loss != results["baseline"]]
            differences = [values[seed] - others[seed] for seed in shared]
            yield {
                "label": job["label"],
                **axes,
                "loss": loss,
                "metric": metric,
                "seeds": len(values),
                **summarise(list(values.values()), confidence),
                **{
                    f"difference_{name}": value
                    for name, value in summarise(differences, confidence).items()
                },
            }


def _baseline_metrics(job: Mapping[str, Any], results: Mapping[str, Any]) -> Mapping[str, Any]:
    """By seed: the baseline's metrics, at the same point or at its defaults."""
    at_point = results["sweep"]["kind"] in AT_EACH_POINT
    jobs = [job] if at_point else [each for each in results["jobs"] if each["label"] == BASELINE]
    return next((each["metrics"].get(results["baseline"], {}) for each in jobs), {})


def _mean_over_points(results: Mapping[str, Any]) -> dict[str, Any]:
    """A job that holds the mean of all complete ones: by seed where all have the same seeds."""
    jobs = [job for job in results["jobs"] if set(job["metrics"]) >= set(job["losses"])]
    losses = jobs[0]["losses"] if jobs else []
    metrics = {loss: _mean_metrics([job["metrics"][loss] for job in jobs]) for loss in losses}
    return {"label": MEAN, "coordinates": {}, "metrics": metrics}


def _mean_metrics(points: Sequence[Mapping[str, Mapping[str, float]]]) -> dict[str, Values]:
    if len({tuple(point) for point in points}) > 1:  # points that are seeds: each is a value
        every = [seed for point in points for seed in point.items()]
        return {f"{number}/{seed}": dict(values) for number, (seed, values) in enumerate(every)}
    by_seed = {seed: pd.DataFrame([point[seed] for point in points]) for seed in points[0]}
    return {seed: table.mean(skipna=False).to_dict() for seed, table in by_seed.items()}


def by_seed(seeds: Mapping[str, Mapping[str, float]], metric: str) -> Values:
    """A metric of each seed that has it."""
    return {seed: each[metric] for seed, each in seeds.items() if each.get(metric) is not None}


def summarise(values: Sequence[float], confidence: float) -> dict[str, float]:
    """Mean, sample standard deviation and interval; what a single value does not have is missing."""
    count, nothing = len(values), float("nan")
    mean = float(np.mean(values)) if count else nothing
    std = float(np.std(values, ddof=1)) if count > 1 else nothing
    half = nothing if count < 2 else stdtrit(count - 1, (1 + confidence) / 2) * std / count**0.5
    return dict(zip(FACTS, (mean, std, mean - half, mean + half), strict=True))


def _shown(value: Any) -> Any:
    return value if isinstance(value, int | float) else show_value(value)


def draw_sweep(table: pd.DataFrame, results: Mapping[str, Any]) -> go.Figure:
    """The sweep's metric by point, with intervals over seeds; the baseline dotted."""
    kind, metric = results["sweep"]["kind"], results["metric"]
    rows = table[table["metric"] == metric]
    if kind == "heatmap":
        figure = _draw_heatmap(rows, results)
    else:
        figure = go.Figure()
        _add_series(figure, rows, results)
        _add_baseline(figure, rows, results)
        _set_axes(figure, rows, results)
    if kind == "dots":
        figure.update_layout(scattermode="group", scattergap=0.4)
    return apply_layout(figure, literal(results["sweep"]["title"]))


def _add_series(figure: go.Figure, rows: pd.DataFrame, results: Mapping[str, Any]) -> None:
    """A line, or dots, per loss and value of the second axis."""
    axis, *others = results["axes"]
    losses, at_points = _drawn_losses(results), rows[rows["label"] != BASELINE]
    for number, loss in enumerate(losses):
        of_loss = at_points[at_points["loss"] == loss]
        groups = list(of_loss.groupby(others)) if others else [((), of_loss)]
        for index, (values, part) in enumerate(groups):
            words = describe_point(dict(zip(others, values, strict=True)))
            colour = COLOURS[(number if len(losses) > 1 else index) % len(COLOURS)]
            style = {
                "name": literal(f"{loss}, {words}" if words else loss),
                "line": {"color": colour, "dash": DASHES[index % len(DASHES)], "width": 2},
            }
            ordered = part.sort_values(axis) if _is_numeric(rows[axis]) else part
            x = _dodge(_positions(ordered, axis), number - (len(losses) - 1) / 2)
            _add_one(figure, ordered, x, results["sweep"]["kind"], style)


def _add_one(
    figure: go.Figure, part: pd.DataFrame, x: list[Any], kind: str, style: dict[str, Any]
) -> None:
    """A series with its intervals: a line, or dots beside those of other series."""
    value = _drawn_value(kind)
    mean, high = part[f"{value}mean"], part[f"{value}high"]
    dots = {"mode": "markers", "offsetgroup": style["name"]}
    figure.add_scatter(
        x=x,
        y=mean.round(4),
        marker={"color": style["line"]["color"], "size": 8},
        error_y={
            "array": (high - mean).round(4),
            "visible": bool(high.notna().any()),
            "thickness": 1,
            "width": 3,
        },
        text=part["label"].map(literal),
        hovertemplate=f"{style['name']}, %{{text}}: %{{y:.3f}}<extra></extra>",
        **style,
        **(dots if kind == "dots" else {"mode": "lines+markers"}),
    )


def _drawn_value(kind: str) -> str:
    """The prefix of the columns that are drawn."""
    return "difference_" if kind == "gain" else ""


def _drawn_losses(results: Mapping[str, Any]) -> list[str]:
    baseline, kind = results["baseline"], results["sweep"]["kind"]
    if kind == "gain":
        return [loss for loss in results["losses"] if loss != baseline]
    first = [baseline] if baseline and kind == "dots" else []
    return list(dict.fromkeys([*first, *results["losses"]]))


def _add_baseline(figure: go.Figure, rows: pd.DataFrame, results: Mapping[str, Any]) -> None:
    """The baseline as a dotted line: its value, of a gain 0."""
    baseline, kind = results["baseline"], results["sweep"]["kind"]
    trained = rows[(rows["label"] == BASELINE) & (rows["loss"] == baseline)]
    if baseline is None or kind == "dots" or (kind == "lines" and trained.empty):
        return
    level = 0.0 if kind == "gain" else float(trained["mean"].iloc[0])
    points = rows[rows["label"] != BASELINE]
    x = _positions(points, results["axes"][0])
    ends = [min(x), max(x)] if _is_numeric(points[results["axes"][0]]) else [x[0], x[-1]]
    figure.add_scatter(
        x=ends,
        y=[round(level, 4)] * 2,
        name=f"{baseline} (baseline)",
        mode="lines",
        line={"color": "#666666", "dash": "dot", "width": 2},
        hovertemplate=f"{baseline}: %{{y:.3f}}<extra></extra>",
    )


def _set_axes(figure: go.Figure, rows: pd.DataFrame, results: Mapping[str, Any]) -> None:
    axis, metric, kind = (
        results["axes"][0],
        METRICS[results["metric"]].name,
        results["sweep"]["kind"],
    )
    values = rows.loc[rows["label"] != BASELINE, axis]
    figure.update_xaxes(title="" if axis == POINT else short_name(axis))
    if _is_numeric(values) and kind != "dots":
        ticks = sorted(set(values.dropna()))
        shown = {"tickvals": ticks, "ticktext": [show_value(float(tick)) for tick in ticks]}
        figure.update_xaxes(type="log" if _is_logarithmic(ticks) else "linear", **shown)
    else:
        figure.update_xaxes(type="category")
    gain = f"gain in {metric} over {results['baseline']}"
    figure.update_yaxes(title=gain if kind == "gain" else f"{metric}, test", range=_span(figure))


def _span(figure: go.Figure) -> list[float]:
    """The range of the y-axis: every dot with its interval, and a margin."""
    ends = []
    for trace in figure.data:
        bars = trace.error_y.array
        half = 0.0 if bars is None else np.nan_to_num(np.array(bars, dtype=float))
        ends += [np.array(trace.y) - half, np.array(trace.y) + half]
    low, high = np.nanmin(np.concatenate(ends)), np.nanmax(np.concatenate(ends))
    margin = max(0.05 * (high - low), LEAST_MARGIN)
    return [float(low - margin), float(high + margin)]


def _draw_heatmap(rows: pd.DataFrame, results: Mapping[str, Any]) -> go.Figure:
    """The metric by two parameters."""
    x, y = results["axes"]
    points = rows[(rows["label"] != BASELINE) & (rows["loss"] == results["losses"][0])]
    grid = points.pivot_table(index=y, columns=x, values="mean", sort=True).round(4)
    metric = METRICS[results["metric"]].name
    heatmap = go.Heatmap(
        z=grid.to_numpy(),
        x=[literal(show_value(value)) for value in grid.columns],
        y=[literal(show_value(value)) for value in grid.index],
        texttemplate="%{z:.3f}",
        colorscale="Blues",
        reversescale=lower_is_better(results["metric"]),
        colorbar={"title": metric},
        hovertemplate=f"{short_name(x)} = %{{x}}, {short_name(y)} = %{{y}}: %{{z:.3f}}<extra></extra>",
    )
    figure = go.Figure(heatmap)
    figure.update_xaxes(title=short_name(x), type="category")
    return figure.update_yaxes(title=short_name(y), type="category")


def _positions(rows: pd.DataFrame, axis: str) -> list[Any]:
    """Values of an axis; of the mean over points, its label."""
    values: list[Any] = rows[axis].tolist()
    if _is_numeric(rows[axis]) and MEAN not in set(rows["label"]):
        return values
    pairs = zip(values, rows["label"], strict=True)
    return [literal(MEAN if label == MEAN else show_value(value)) for value, label in pairs]


def _dodge(x: list[Any], steps: float) -> list[Any]:
    """Numbers moved aside by a little, so that intervals of several losses do not cover each other."""
    if not steps or not x or isinstance(x[0], str):
        return x
    if _is_logarithmic(x):
        return [value * (max(x) / min(x)) ** (steps * DODGE) for value in x]
    return [value + (max(x) - min(x)) * steps * DODGE for value in x]


def _is_logarithmic(values: Sequence[float]) -> bool:
    return min(values) > 0 and max(values) / min(values) >= MANY_TIMES


def _is_numeric(values: pd.Series) -> bool:
    return bool(pd.api.types.is_numeric_dtype(values))


def sweep_to_markdown(table: pd.DataFrame, results: Mapping[str, Any]) -> str:
    """A row per point, a column per loss: the metric, in brackets its difference to the baseline."""
    losses = _columns(results)
    header = [METRICS[results["metric"]].name, *losses]
    body = [
        [label, *(" ".join([cell["text"], *_in_brackets(cell)]) for cell in cells)]
        for label, cells in _rows(table, results)
    ]
    return markdown_table(header, body)


def render_sweep(
    table: pd.DataFrame, plot: go.Figure, results: Mapping[str, Any], run: SweepRunPart
) -> str:
    """The page as HTML."""
    return (
        page_environment()
        .get_template("sweep.html.j2")
        .render(
            run=run,
            results=results,
            sweep=results["sweep"],
            metric=METRICS[results["metric"]],
            best=_best(table, results),
            losses=_columns(results),
            rows=_rows(table, results),
            failed={job["label"]: job["failed"] for job in results["jobs"] if job["failed"]},
            seeds=_seeds(table),
            at_point=results["sweep"]["kind"] in AT_EACH_POINT,
            data=as_json({"figures": {"sweep": plot_as_json(plot)}}),
        )
    )


def _columns(results: Mapping[str, Any]) -> list[str]:
    baseline = [results["baseline"]] if results["baseline"] else []
    return list(dict.fromkeys([*baseline, *results["losses"]]))


def _rows(
    table: pd.DataFrame, results: Mapping[str, Any]
) -> list[tuple[str, list[dict[str, str]]]]:
    """By point, in the order of the jobs: a cell per loss."""
    rows = table[table["metric"] == results["metric"]].set_index(["label", "loss"])
    labels = list(dict.fromkeys([*(job["label"] for job in results["jobs"]), *table["label"]]))
    return [(label, [_cell(rows, (label, loss)) for loss in _columns(results)]) for label in labels]


def _cell(rows: pd.DataFrame, key: tuple[str, str]) -> dict[str, str]:
    if key not in rows.index:
        return {"text": "", "details": ""}
    row = rows.loc[key]
    low, high = row["difference_low"], row["difference_high"]
    details = "" if pd.isna(row["difference_mean"]) else f"{row['difference_mean']:+.3f}"
    details += "" if pd.isna(low) else f" [{low:+.3f}, {high:+.3f}]"
    return {"text": _mean_std(row), "details": details}


def _in_brackets(cell: Mapping[str, str]) -> list[str]:
    return [f"({cell['details'].partition(' ')[0]})"] if cell["details"] else []


def _best(table: pd.DataFrame, results: Mapping[str, Any]) -> dict[str, str]:
    """The point of the best mean, or gain; of dots, the loss of the best mean over points."""
    kind = results["sweep"]["kind"]
    rows = table[table["metric"] == results["metric"]]
    shown = rows["label"].eq(MEAN) if kind == "dots" else rows["label"].ne(BASELINE)
    rows = rows[shown] if shown.any() else rows
    drawn, ascending = f"{_drawn_value(kind)}mean", lower_is_better(results["metric"])
    row = rows.sort_values(drawn, ascending=ascending, kind="stable").iloc[0]
    cell = _cell(rows.set_index(["label", "loss"]), (row["label"], row["loss"]))
    return {"loss": row["loss"], "label": row["label"], **cell}


def _seeds(table: pd.DataFrame) -> str:
    counts: Iterable[int] = sorted(set(table.loc[table["label"] != MEAN, "seeds"]))
    return " or ".join(map(str, counts))


def _mean_std(row: pd.Series) -> str:
    return "-" if pd.isna(row["mean"]) else format_mean_std(row["mean"], row["std"])
