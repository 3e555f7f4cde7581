import io
import re

import pandas as pd
import pytest
from PIL import Image

from losslab.reporting import (
    CorpusPart,
    compare,
    draw_group_scores,
    draw_learning_curves,
    draw_long_tail,
    render_page,
    to_markdown,
)
from losslab.reporting.png import to_png
from losslab.reporting.table import COLUMNS


def result(value: float, spread: float | None = 0.01, seeds: int = 2) -> dict:
    keys = ("best_epoch", *COLUMNS)
    return {
        "seeds": {str(seed): {} for seed in range(seeds)},
        "mean": dict.fromkeys(keys, value),
        "std": dict.fromkeys(keys, spread),
    }


@pytest.fixture
def metrics():
    return {"bce": result(0.4), "db": result(0.5)}


@pytest.fixture
def label_table():
    return pd.DataFrame(
        {"label": ["x", "y", "<z>"], "group": ["head", "medium", "tail"], "train": [9, 5, 1]}
    )


@pytest.fixture
def figures(metrics):
    history = pd.DataFrame(
        {"epoch": [1, 2, 1], "seed": [1, 1, 2], "validation_macro_f1": [0.2, 0.5, 0.4]}
    )
    return {
        "group_scores": draw_group_scores(metrics),
        "learning_curves": draw_learning_curves({"bce": history}),
    }


def test_comparison_puts_the_best_macro_f1_first(metrics):
    table = compare(metrics)
    assert table["loss"].tolist() == ["db", "bce"]
    assert table.loc[0, "tail/macro_f1"] == 0.5
    assert table.loc[0, "tail/macro_f1_std"] == 0.01


def test_markdown_has_a_row_per_loss_and_columns_of_one_width(metrics):
    lines = to_markdown(compare(metrics)).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[2].startswith("| db ")
    assert "0.500 ± 0.010" in lines[2]


def test_one_seed_shows_no_spread():
    assert "±" not in to_markdown(compare({"bce": result(0.4, spread=None, seeds=1)}))


def test_learning_curve_is_the_mean_over_the_seeds_still_training(figures):
    line = figures["learning_curves"].data[0]
    assert list(line.x) == [1, 2]
    assert list(line.y) == pytest.approx([0.3, 0.5])


def test_group_scores_show_the_spread_only_where_there_is_one():
    with_spread = draw_group_scores({"a": result(0.4)}).data[0]
    without = draw_group_scores({"a": result(0.4, spread=None, seeds=1)}).data[0]
    assert list(with_spread.error_y.array) == [0.01] * 3
    assert not without.error_y.visible


@pytest.mark.parametrize("name", ["group_scores", "learning_curves"])
def test_pictures_show_every_trace_in_its_colour(figures, name):
    picture = Image.open(io.BytesIO(to_png(figures[name]))).convert("RGB")
    drawn = {f"#{r:02x}{g:02x}{b:02x}" for _, (r, g, b) in picture.getcolors(maxcolors=10**6)}
    for trace in figures[name].data:
        assert (trace.marker.color or trace.line.color).lower() in drawn


TABLE = pd.DataFrame(
    {
        "split": ["all", "train"],
        "instances": [2468, 1234],
        "average_words": [89.4, 90.1],
        "categories": [3, 3],
        "cardinality": [1.5, 1.25],
        "density": [0.5, 0.4167],
    }
)


def page(table, figures, **changes):
    options = {
        "corpus": CorpusPart(TABLE, [], {}),
        "dataset": "cwe",
        "recipe": "probe",
        "statistics": {
            "documents": 1234,
            "labels": 3,
            "cardinality": 1.5,
            "density": 0.5,
            "imbalance_ratio": 9.0,
        },
        "titles": {"bce": "Binary cross-entropy", "db": "Distribution-balanced"},
    }
    return render_page(table, figures, **{**options, **changes})


def test_page_needs_no_other_file(metrics, figures):
    html = page(compare(metrics), figures)
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", html)
    assert "1,234" in html
    assert html.count('class="best"') == len(COLUMNS)


def test_page_marks_the_lowest_ranking_loss(metrics, figures):
    html = page(compare(metrics), figures)
    cells = re.findall(r"<tr><td title.*?</tr>", html, flags=re.DOTALL)
    column = 3 + list(COLUMNS).index("ranking_loss")
    marked = ['class="best"' in re.findall(r"<td[^>]*>", row)[column] for row in cells]
    assert marked == [False, True]


def test_labels_and_names_cannot_break_out_of_the_page(metrics, label_table):
    evil = "</script><script>alert(1)</script>"
    drawn = {"long_tail": draw_long_tail(label_table.assign(label=[evil, "b", "c"]))}
    corpus = CorpusPart(TABLE, [f"1 rows rejected: {evil}"], drawn)
    html = page(compare(metrics), {}, dataset=evil, corpus=corpus)
    assert evil not in html


def test_page_tells_where_rows_have_different_numbers_of_seeds(figures):
    table = compare({"bce": result(0.4, seeds=1, spread=None), "db": result(0.5, seeds=3)})
    assert "1 to 3 seeds each" in page(table, figures)


def test_page_shows_the_table_of_the_corpus_what_is_odd_and_its_figures(metrics, label_table):
    corpus = CorpusPart(
        TABLE, ["3 labels only in test", "1 torn row"], {"long_tail": draw_long_tail(label_table)}
    )
    html = page(compare(metrics), {}, corpus=corpus)
    cells = re.findall(r"<td>(.*?)</td>", html.split("<h2>The corpus</h2>")[1])
    assert cells[:6] == ["all", "2,468", "89", "3", "1.500", "0.500"]
    assert "Worth knowing: 3 labels only in test; 1 torn row." in html
    assert '<div class="figure" id="long_tail">' in html
