"""The table, the figure and the page of a sweep."""

import re
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from losslab.reporting import sweep_to_markdown
from losslab.reporting.definitions import METRICS
from losslab.reporting.sweep_page import SweepRunPart, draw_sweep, render_sweep, tabulate_sweep

BASELINE = {"1": 0.50, "2": 0.54, "3": 0.52}
CURVE = {0.0: {"1": 0.60, "2": 0.62, "3": 0.58}, 0.5: {"1": 0.70, "2": 0.66, "3": 0.68}}


def of_seeds(values):
    return {seed: dict.fromkeys(METRICS, value) for seed, value in values.items()}


def job(label, coordinates, failed="", **losses):
    metrics = {loss: of_seeds(values) for loss, values in losses.items()}
    names = list(losses) or ["db"]
    facts = {"params": {}, "failed": failed, "losses": names}
    return {"label": label, "coordinates": coordinates, "metrics": metrics, **facts}


def results(jobs, kind="lines", axes=("loss.alpha",), losses=("db",), baseline="bce", **sweep):
    return {
        "sweep": {"name": "s", "title": "Rate", "paper": "P, Figure 1", "kind": kind, **sweep},
        "axes": list(axes),
        "metric": "macro_f1",
        "losses": list(losses),
        "baseline": baseline,
        "dataset": "cwe",
        "recipe": "probe",
        "jobs": jobs,
    }


def lines():
    points = [job(f"alpha = {x:g}", {"loss.alpha": x}, db=values) for x, values in CURVE.items()]
    return results([job("baseline", {}, bce=BASELINE), *points])


def gains():
    points = [
        job(f"size = {x}", {"undersample.size": x}, ce=BASELINE, kwls=values)
        for x, values in zip((100, 1), CURVE.values(), strict=True)
    ]
    return results(points, "gain", ["undersample.size"], ["kwls"], "ce")


def dots(second=CURVE[0.5]):
    points = [
        job("labels = a", {"undersample.labels": ["a"]}, ce=BASELINE, kwls=CURVE[0.0]),
        job("labels = b", {"undersample.labels": ["b"]}, ce=BASELINE, kwls=second),
    ]
    return results(points, "dots", ["undersample.labels"], ["kwls"], "ce")


def row(swept, label, loss):
    table = tabulate_sweep(swept, 0.95)
    chosen = table[(table["label"] == label) & (table["loss"] == loss)]
    return chosen[chosen["metric"] == "macro_f1"].iloc[0]


def page(swept, **run):
    table = tabulate_sweep(swept, 0.95)
    return render_sweep(table, draw_sweep(table, swept), swept, SweepRunPart(**run))


def test_table_has_mean_spread_and_interval_over_seeds_by_point():
    found, values = row(lines(), "alpha = 0.5", "db"), list(CURVE[0.5].values())
    assert (found["seeds"], found["loss.alpha"]) == (3, 0.5)
    assert found["mean"] == pytest.approx(np.mean(values))
    assert found["std"] == pytest.approx(np.std(values, ddof=1))
    interval = stats.t.interval(0.95, 2, np.mean(values), stats.sem(values))
    assert (found["low"], found["high"]) == pytest.approx(interval)


def test_difference_is_to_the_baseline_with_the_same_seed():
    found = row(lines(), "alpha = 0", "db")
    differences = [CURVE[0.0][seed] - BASELINE[seed] for seed in BASELINE]
    assert found["difference_mean"] == pytest.approx(np.mean(differences))
    interval = stats.t.interval(0.95, 2, np.mean(differences), stats.sem(differences))
    assert (found["difference_low"], found["difference_high"]) == pytest.approx(interval)
    assert np.isnan(row(lines(), "baseline", "bce")["difference_mean"])


def test_single_seed_has_a_mean_and_no_interval():
    swept = results([job("alpha = 0", {"loss.alpha": 0.0}, db={"1": 0.6})], baseline=None)
    found = row(swept, "alpha = 0", "db")
    assert (found["mean"], found["seeds"]) == (0.6, 1)
    assert found[["std", "low", "high", "difference_mean"]].isna().all()
    assert "0.600" in sweep_to_markdown(tabulate_sweep(swept, 0.95), swept)


def test_mean_over_points_is_taken_seed_by_seed():
    found = row(dots(), "mean", "kwls")
    by_seed = [np.mean([CURVE[0.0][seed], CURVE[0.5][seed]]) for seed in BASELINE]
    assert (found["mean"], found["seeds"]) == (pytest.approx(np.mean(by_seed)), 3)
    assert found["std"] == pytest.approx(np.std(by_seed, ddof=1))
    assert found["difference_mean"] == pytest.approx(np.mean(by_seed) - 0.52)


def test_mean_over_seeds_as_points_is_of_every_training():
    jobs = [
        job(f"seed = {seed}", {"seed": int(seed)}, bce={seed: value})
        for seed, value in BASELINE.items()
    ]
    swept = results(jobs, "dots", ["seed"], ["bce"], None)
    found = row(swept, "mean", "bce")
    figure = draw(swept)
    assert (list(figure.data[0].x), figure.layout.xaxis.type) == (
        ["1", "2", "3", "mean"],
        "category",
    )
    assert found["seeds"] == 3
    assert found["std"] == pytest.approx(np.std(list(BASELINE.values()), ddof=1))


def test_point_where_a_loss_failed_is_left_out_of_the_mean_of_all():
    swept = dots()
    del swept["jobs"][1]["metrics"]["kwls"]
    assert row(swept, "mean", "ce")["mean"] == pytest.approx(0.52)
    assert row(swept, "mean", "kwls")["mean"] == pytest.approx(0.60)


def test_terminal_has_a_row_per_point_and_a_column_per_loss_after_a_csv_file(tmp_path):
    table = tabulate_sweep(lines(), 0.95)
    table.to_csv(tmp_path / "t.csv", index=False)
    read = pd.read_csv(tmp_path / "t.csv", dtype={"label": str})
    assert sweep_to_markdown(read, lines()).splitlines() == [
        "| macro-F1    | bce           | db                     |",
        "| ----------- | ------------- | ---------------------- |",
        "| baseline    | 0.520 ± 0.020 |                        |",
        "| alpha = 0   |               | 0.600 ± 0.020 (+0.080) |",
        "| alpha = 0.5 |               | 0.680 ± 0.020 (+0.160) |",
    ]


def draw(swept):
    return draw_sweep(tabulate_sweep(swept, 0.95), swept)


def test_lines_have_intervals_and_the_baseline_is_dotted_across_the_axis():
    curve, baseline = draw(lines()).data
    assert (list(curve.x), list(curve.y)) == ([0.0, 0.5], [0.6, 0.68])
    half = stats.t.ppf(0.975, 2) * 0.02 / np.sqrt(3)
    assert list(curve.error_y.array) == pytest.approx([half, half], abs=1e-4)
    low, high = draw(lines()).layout.yaxis.range
    assert low < 0.52 < 0.68 + half < high < 1
    assert (baseline.line.dash, list(baseline.x), list(baseline.y)) == ("dot", [0, 0.5], [0.52] * 2)


def test_gain_is_over_the_baseline_at_the_same_point_on_a_logarithmic_axis():
    figure = draw(gains())
    curve, baseline = figure.data
    assert (list(curve.x), curve.name) == ([1, 100], "kwls")
    assert list(curve.y) == pytest.approx([0.16, 0.08])
    assert list(baseline.y) == [0, 0]
    assert figure.layout.xaxis.type == "log"
    assert "over ce" in figure.layout.yaxis.title.text


def test_lines_of_several_losses_are_moved_aside_by_less_than_a_hundredth_of_the_axis():
    swept = lines()
    for each in swept["jobs"][1:]:
        each["metrics"]["zlpr"] = each["metrics"]["db"]
    first, second, _ = draw({**swept, "losses": ["db", "zlpr"]}).data
    assert all(0 < b - a < 0.005 for a, b in zip(first.x, second.x, strict=True))
    assert [(a + b) / 2 for a, b in zip(first.x, second.x, strict=True)] == pytest.approx([0, 0.5])
    assert list(first.text) == ["alpha = 0", "alpha = 0.5"]


def test_dots_are_side_by_side_and_end_with_their_mean():
    figure = draw(dots())
    assert [trace.name for trace in figure.data] == ["ce", "kwls"]
    assert list(figure.data[1].x) == ["a", "b", "mean"]
    assert list(figure.data[1].y) == pytest.approx([0.60, 0.68, 0.64])
    assert (figure.layout.scattermode, figure.data[0].mode) == ("group", "markers")


def test_second_axis_makes_a_line_per_value():
    jobs = [
        job(f"{x} {alpha}", {"eps": x, "loss.alpha": alpha}, db={"1": x + alpha})
        for x, alpha in product((0.1, 0.2), (1, 2))
    ]
    figure = draw(results(jobs, axes=["eps", "loss.alpha"], baseline=None))
    drawn = {trace.name: list(trace.y) for trace in figure.data}
    assert drawn == {"db, alpha = 1": [1.1, 1.2], "db, alpha = 2": [2.1, 2.2]}


def test_heatmap_has_the_first_parameter_along_x():
    values = {(1, -1): 0.1, (1, 0): 0.2, (10, -1): 0.3, (10, 0): 0.4}
    jobs = [
        job(f"{point}", dict(zip(("loss.beta", "loss.eta"), point, strict=True)), db={"1": value})
        for point, value in values.items()
    ]
    (heatmap,) = draw(results(jobs, "heatmap", ["loss.beta", "loss.eta"], baseline=None)).data
    assert (list(heatmap.x), list(heatmap.y)) == (["1", "10"], ["-1", "0"])
    assert np.array(heatmap.z).tolist() == [[0.1, 0.3], [0.2, 0.4]]


def test_page_is_one_file_with_best_point_figure_table_and_failures():
    swept = lines()
    swept["jobs"].append(job("alpha = 1", {"loss.alpha": 1.0}, failed="NaN at step 7"))
    html = page(swept, command="kedro sweep s", commit="abc123", versions={"torch": "2"})
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", html)
    lead = re.search(r'class="lead">(.*?)</p>', html, re.S).group(1)
    assert "<b>db</b> at alpha = 0.5: 0.680 ± 0.020" in lead
    points = re.findall(r'<tr data-point="([^"]+)"', html)
    assert points == ["baseline", "alpha = 0", "alpha = 0.5", "alpha = 1"]
    for part in ('id="sweep"', "<b>alpha = 1</b> failed: NaN at step 7", "kedro sweep s", "torch"):
        assert part in html


def test_lead_is_on_the_largest_gain_or_the_mean_over_points():
    gained, averaged = (
        re.search(r'class="lead">(.*?)</p>', page(swept), re.S).group(1)
        for swept in (gains(), dots())
    )
    assert "largest gain in macro-F1 is that of <b>kwls</b> at size = 1: 0.680" in gained
    assert "Difference to <b>ce</b>: +0.160" in gained
    assert "best mean macro-F1 is that of <b>kwls</b>: 0.640" in averaged


def test_text_from_data_is_escaped():
    evil = "</script><script>alert(1)</script>"
    swept = dots()
    swept["jobs"][0]["label"] = swept["jobs"][0]["failed"] = f"labels = {evil}"
    swept["jobs"][0]["coordinates"] = {"undersample.labels": [evil]}
    assert evil not in page(swept, command=evil)
    assert draw(swept).data[0].x[0] == "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;"
