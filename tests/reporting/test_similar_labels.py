import numpy as np
import pandas as pd
from scipy import sparse

from losslab.reporting import draw_similar_labels, result_plots
from losslab.reporting.result_plots import similar_groups

# labels 0, 1, 4 are alike; 2 and 3; 5 is alone; 4 also belongs to the second group
MEMBERSHIP = sparse.csr_array(
    np.array([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
)
SUPPORT = np.array([5, 9, 1, 0, 2, 7])


def test_groups_hold_labels_of_the_test_split_each_once_most_frequent_first():
    assert similar_groups(MEMBERSHIP, SUPPORT) == [[1, 0, 4]]
    assert similar_groups(MEMBERSHIP, SUPPORT + 1) == [[1, 0, 4], [2, 3]]


def test_no_more_labels_are_shown_than_fit(monkeypatch):
    monkeypatch.setattr(result_plots, "MAX_SIMILAR_LABELS", 2)
    assert similar_groups(MEMBERSHIP, SUPPORT + 1) == [[1, 0]]


def scores(**losses) -> pd.DataFrame:
    return pd.DataFrame({"label": list("abcdef"), "train": SUPPORT + 1, **losses})


def test_labels_are_rows_with_a_gap_between_groups_and_a_point_per_loss():
    table = scores(bce=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], mask_label=[0.9] * 6, db=[0.0] * 6)
    figure = draw_similar_labels(table, ["bce", "mask_label"], MEMBERSHIP)
    bce, mask = figure.data
    assert list(bce.y) == ["b", "a", "e", " ", "c", "d"]
    assert list(bce.x) == [0.2, 0.1, 0.5, None, 0.3, 0.4]
    assert list(mask.x) == [0.9, 0.9, 0.9, None, 0.9, 0.9]
    assert figure.layout.height > 15 * len(bce.y)


def test_labels_that_begin_alike_stay_apart():
    names = [f"Impact: Execute Unauthorized Code or Commands, {place}" for place in "abcdef"]
    figure = draw_similar_labels(scores(bce=[0.1] * 6).assign(label=names), ["bce"], MEMBERSHIP)
    drawn = [name for name in figure.data[0].y if name.strip()]
    assert sorted(drawn) == sorted(set(drawn))
    assert set(drawn) <= set(names)
    assert max(map(len, figure.layout.yaxis.ticktext)) == 32


def test_losses_beyond_the_first_are_in_the_legend_only():
    table = scores(focal=[0.1] * 6, db=[0.5] * 6)
    figure = draw_similar_labels(table, ["focal", "db"], MEMBERSHIP, first={"focal"})
    shown = {trace.meta["loss"]: trace.visible for trace in figure.data}
    assert shown == {"focal": True, "db": "legendonly"}


def test_a_corpus_without_similar_labels_gives_an_empty_figure():
    figure = draw_similar_labels(scores(bce=[0.1] * 6), ["bce"], sparse.eye_array(6))
    assert len(figure.data[0].x) == 0
