"""Best settings as YAML, the table of tuned against default, the order, the page."""

import re

import pandas as pd
import pytest
import yaml
from scipy import stats

from losslab.reporting import search_to_markdown
from losslab.reporting.definitions import METRICS
from losslab.reporting.search_page import (
    best_as_yaml,
    describe_order,
    order_lines,
    render_search,
    tabulate_search,
)
from losslab.reporting.sweep_page import SweepRunPart, draw_sweep, tabulate_sweep

DEFAULT = {"bce": [0.50, 0.52, 0.54], "db": [0.60, 0.61, 0.62], "asl": [0.40, 0.41, 0.42]}
TUNED = {"bce": [0.70, 0.68, 0.69], "db": [0.60, 0.61, 0.62], "asl": [0.45, 0.44, 0.46]}


def trial(number, value, state="complete", mark=None, **settings):
    facts = {"number": number, "value": value, "state": state, "mark": mark}
    return {**facts, "settings": settings, "curve": {}}


def search(loss, *trials):
    complete = [each for each in trials if each["state"] == "complete"]
    best = max(complete, key=lambda each: (each["value"], -each["number"]))
    facts = {"loss": loss, "metric": "macro_f1", "seed": 1}
    return {**facts, "default": trials[0], "best": best, "trials": list(trials)}


def results(**failed):
    searches = [
        search(
            "bce",
            trial(0, 0.55, learning_rate=0.001),
            trial(1, 0.71, learning_rate=0.01),
            trial(2, 0.40, "pruned", learning_rate=0.1),
        ),
        search(
            "db", trial(0, 0.63, gamma=2.0), trial(1, 0.62, gamma=1.0), trial(2, None, "failed")
        ),
        search("asl", trial(0, 0.41), trial(1, 0.44, clip=0.1, mark="stopped"), trial(2, 0.4)),
    ]
    jobs = []
    for label, values in (("default", DEFAULT), ("tuned", TUNED)):
        metrics = {
            loss: {str(seed): dict.fromkeys(METRICS, value) for seed, value in enumerate(of, 1)}
            for loss, of in values.items()
        }
        facts = {"coordinates": {"point": label}, "params": {}, "failed": "", "losses": [*values]}
        jobs.append({"label": label, "metrics": metrics, **facts})
    return {
        "sweep": {
            "name": "search",
            "title": "Tuned against default",
            "paper": "-",
            "kind": "lines",
        },
        "axes": ["point"],
        "metric": "macro_f1",
        "losses": [*DEFAULT],
        "baseline": None,
        "dataset": "cwe",
        "recipe": "probe",
        "jobs": jobs,
        "search": {each["loss"]: each for each in searches},
        "failed": failed,
    }


def test_yaml_holds_what_is_better_than_the_default():
    text = best_as_yaml(results()["search"].values())
    assert yaml.safe_load(text) == {"bce_loss": {"learning_rate": 0.01}, "asl_loss": {"clip": 0.1}}
    assert "# db_loss: the default is best, 0.6300 in 3 trials" in text
    assert "# macro_f1 0.7100 in 3 trials (trial 1); default: 0.5500" in text


def test_table_has_trials_validation_gain_and_ranks():
    table = tabulate_search(results(), 0.95).set_index("loss")
    assert list(table.index) == ["bce", "db", "asl"]
    bce = table.loc["bce"]
    assert tuple(bce[["trials", "complete", "pruned", "failed"]]) == (3, 2, 1, 0)
    assert tuple(bce[["validation_default", "validation_tuned"]]) == (0.55, 0.71)
    assert tuple(bce[["default", "tuned", "gain"]]) == pytest.approx((0.52, 0.69, 0.17))
    gains = pd.Series(TUNED["bce"]) - pd.Series(DEFAULT["bce"])
    low, high = stats.t.interval(0.95, 2, gains.mean(), gains.std() / 3**0.5)
    assert tuple(bce[["gain_low", "gain_high"]]) == pytest.approx((low, high))
    assert tuple(bce[["rank_default", "rank_tuned"]]) == (2, 1)
    assert table.loc["db", "settings"] == "default"
    assert table.loc["asl", "mark"] == "stopped"


def test_order_is_told_with_its_tau_and_ties():
    table = tabulate_search(results(), 0.95)
    order = describe_order(table)
    assert (order["default"], order["tuned"]) == ("db > bce > asl", "bce > db > asl")
    assert (order["swapped"], order["pairs"]) == (1, 3)
    assert order["tau"] == pytest.approx(stats.kendalltau([1, 2, 3], [2, 1, 3]).statistic)
    assert order_lines(table)[1].endswith("tuned: bce > db > asl (1 of 3 pairs swap, tau 0.33)")
    tied = results()
    tied["jobs"][1]["metrics"]["db"] = tied["jobs"][1]["metrics"]["bce"]
    assert describe_order(tabulate_search(tied, 0.95))["tuned"] == "bce = db > asl"


def test_order_that_stays_is_called_unchanged():
    same = results()
    same["jobs"][1]["metrics"] = same["jobs"][0]["metrics"]
    assert order_lines(tabulate_search(same, 0.95))[1] == (
        "test: db > bce > asl; tuned: db > bce > asl (unchanged)"
    )


def test_loss_that_failed_in_a_run_has_no_rank():
    lost = results()
    del lost["jobs"][1]["metrics"]["db"]
    table = tabulate_search(lost, 0.95)
    assert describe_order(table)["tuned"] == "bce > asl"
    assert "| db   | 0.610 ± 0.010     | -" in search_to_markdown(table, "macro_f1")


def test_page_is_one_file_with_answer_figure_table_and_settings():
    given = results(cb="cb: no trial was completed")
    table = tabulate_search(given, 0.95)
    figure = draw_sweep(tabulate_sweep(given, 0.95), given)
    assert [trace.name for trace in figure.data] == ["bce", "db", "asl"]
    html = render_search(table, figure, given, SweepRunPart(command="kedro search"))
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", html)
    lead = re.search(r'class="lead">(.*?)</p>', html, re.S).group(1)
    assert lead.startswith("Yes, by test macro-F1: 1 of 3 pairs of losses swap")
    assert re.findall(r'<tr data-loss="([^"]+)"', html) == ["bce", "db", "asl"]
    for part in ('id="search"', "<b>cb</b> failed", "kedro search", "learning_rate: 0.01"):
        assert part in html
    evil = "</script><script>alert(1)</script>"
    assert evil not in render_search(table, figure, results(cb=evil), SweepRunPart(command=evil))


def test_points_are_drawn_from_default_to_tuned():
    given = results()
    figure = draw_sweep(tabulate_sweep(given, 0.95), given)
    assert list(figure.data[0].x) == ["default", "tuned"]
