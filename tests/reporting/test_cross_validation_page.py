"""The page, the plot and the terminal's table of a cross-validation."""

import re

import pandas as pd
import pytest
from scipy.stats import ttest_rel

from losslab.evaluation import compare_folds, tabulate_folds
from losslab.reporting import draw_fold_scores, folds_to_markdown
from losslab.reporting.cross_validation_page import (
    FoldRunPart,
    missing_folds,
    render_cross_validation,
)
from losslab.reporting.definitions import METRICS

VALUES = {
    "bce": {1: 0.50, 2: 0.51, 3: 0.49},
    "db": {1: 0.60, 2: 0.62, 3: 0.59},
    "focal": {1: 0.90, 2: 0.91},
    "zlpr": {},
}


def means(values):
    return {
        loss: {fold: dict.fromkeys(METRICS, value) for fold, value in folds.items()}
        for loss, folds in values.items()
    }


def compare(values=VALUES):
    return compare_folds(means(values), METRICS, reference="bce", folds=3)


def page(values=VALUES, **run):
    comparison = compare(values)
    plot = draw_fold_scores(tabulate_folds(means(values), METRICS), comparison)
    about = {"dataset": "cwe", "recipe": "probe", "folds": 3, "seeds": ["1"], "reference": "bce"}
    return render_cross_validation(comparison, plot, FoldRunPart(**{**about, **run}))


def test_terminal_shows_mean_spread_difference_and_p_over_folds():
    header, _, *rows = folds_to_markdown(compare(), "bce").splitlines()
    assert "macro-F1 vs bce" in header
    cells = {row.split("|")[1].strip(): [c.strip() for c in row.split("|")[2:-1]] for row in rows}
    p = ttest_rel(list(VALUES["db"].values()), list(VALUES["bce"].values())).pvalue
    assert 0.001 < p < 0.01
    assert cells["db"][1:] == ["0.603 ± 0.015", "0.603 ± 0.015", "+0.103", f"{p:.3f}", "3"]
    assert cells["focal"][3:] == ["+0.400", "", "2 (no 3)"]
    assert cells["zlpr"] == ["-", "-", "-", "", "", "0 (no 1, 2, 3)"]
    assert cells["bce"][3:] == ["", "", "3"]


def test_missing_folds_survive_a_csv_file(tmp_path):
    compare().to_csv(tmp_path / "table.csv", index=False)
    read = pd.read_csv(tmp_path / "table.csv", dtype={"missing_folds": str})
    assert missing_folds(read) == {"focal": "3", "zlpr": "1, 2, 3"}
    assert folds_to_markdown(read, "bce") == folds_to_markdown(compare(), "bce")


def test_best_loss_has_every_fold_and_missing_ones_are_named():
    html = page()
    lead = re.search(r'class="lead">(.*?)</p>', html, re.S).group(1)
    assert "<b>db</b> has the best mean macro-F1 over folds, 0.603 ± 0.015" in lead
    assert "<b>focal</b>: no result of fold 3" in html
    assert "<b>zlpr</b>: no result of fold 1, 2, 3" in html


def test_page_is_one_file_with_table_plot_and_how_it_was_made():
    html = page(command="kedro cross-validate --folds=3", commit="abc123", versions={"torch": "2"})
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", html)
    assert re.findall(r'<tr data-loss="(\w+)"', html) == ["focal", "db", "bce", "zlpr"]
    for part in ('id="fold_scores"', "kedro cross-validate --folds=3", "abc123", "torch"):
        assert part in html


def test_text_from_data_is_escaped():
    evil = "</script><script>alert(1)</script>"
    assert evil not in page(dataset=evil, command=evil, recipe=evil)


def test_page_of_the_reference_alone_claims_nothing():
    html = page({"bce": VALUES["bce"]})
    assert "Of 1 loss, <b>bce</b>" in html
    assert "It is the reference" not in html


def test_plot_has_a_dot_per_loss_and_fold_best_mean_on_top():
    comparison = compare()
    plot = draw_fold_scores(tabulate_folds(means(VALUES), METRICS), comparison)
    assert list(plot.layout.meta["rows"]) == ["focal", "db", "bce"]
    mean, *folds = plot.data
    assert dict(zip(mean.y, mean.x, strict=True))["bce"] == pytest.approx(0.5)
    dots = {
        (trace.name, loss): x for trace in folds for x, loss in zip(trace.x, trace.y, strict=True)
    }
    assert dots["fold 2", "db"] == 0.62
    assert len(dots) == 8
