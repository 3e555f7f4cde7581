from collections import Counter

import numpy as np
import pandas as pd
import pytest

from losslab.data import encode_labels
from losslab.reporting import (
    draw_cooccurrence,
    draw_document_lengths,
    draw_labels_per_document,
    draw_long_tail,
)
from losslab.reporting.corpus_plots import MAX_COOCCURRING, MAX_POINTS
from losslab.supervision import cooccurrence


def table(frequencies):
    names = [f"label {rank}" for rank in range(len(frequencies))]
    groups = np.array(["head", "medium", "tail"])[np.arange(len(names)) * 3 // len(names)]
    return pd.DataFrame({"label": names, "group": groups, "train": frequencies})


def label_sets(labels, rows=400, seed=0):
    random = np.random.default_rng(seed)
    chances = np.geomspace(0.6, 0.05, labels)
    return [[f"l{i}" for i in np.flatnonzero(random.random(labels) < chances)] for _ in range(rows)]


def counts_of(sets, labels):
    names = [f"l{number}" for number in range(labels)]
    return cooccurrence(encode_labels(sets, names)), names


def test_every_label_stands_on_the_tail_once_in_the_colour_of_its_group():
    curve, *groups = draw_long_tail(table([9, 5, 1])).data
    assert list(curve.y) == [9, 5, 1]
    points = {trace.name: dict(zip(trace.x, trace.y, strict=True)) for trace in groups}
    assert points == {"head": {"label 0": 9}, "medium": {"label 1": 5}, "tail": {"label 2": 1}}


def test_long_names_are_shortened_on_the_axis_and_stay_apart():
    names = [f"{'very ' * 10}long name {number}" for number in range(3)]
    figure = draw_long_tail(table([3, 2, 1]).assign(label=names))
    assert list(figure.layout.xaxis.tickvals) == names
    assert max(map(len, figure.layout.xaxis.ticktext)) <= 32


@pytest.mark.parametrize(("rarest", "scale"), [(2, "log"), (50, "linear")])
def test_tail_is_drawn_on_a_logarithmic_axis_where_it_is_steep(rarest, scale):
    assert draw_long_tail(table([5000, 100, rarest])).layout.yaxis.type == scale


def test_curve_of_many_labels_is_thinned_but_keeps_its_ends():
    frequencies = (20_000 / np.arange(1, 18_212)).astype(int) + 1
    curve = draw_long_tail(table(frequencies)).data[0]
    assert len(curve.x) <= MAX_POINTS
    assert (curve.x[0], curve.x[-1]) == (1, 18_211)
    assert list(curve.y) == frequencies[np.array(curve.x) - 1].tolist()


def test_map_shows_the_probability_of_the_column_given_the_row():
    sets = label_sets(labels=5)
    drawn = draw_cooccurrence(*counts_of(sets, 5)).data[0]
    for given, row in zip(drawn.y, drawn.z, strict=True):
        holding = [labels for labels in sets if given in labels]
        expected = [sum(name in labels for labels in holding) / len(holding) for name in drawn.x]
        assert list(row) == pytest.approx(expected, abs=1e-4)


def test_map_of_many_labels_shows_the_most_frequent_by_the_fourth_root():
    sets = label_sets(labels=120)
    drawn = draw_cooccurrence(*counts_of(sets, 120)).data[0]
    frequencies = Counter(label for labels in sets for label in labels)
    kept = sorted(frequencies.values(), reverse=True)[:MAX_COOCCURRING]
    assert [frequencies[name] for name in drawn.y] == kept
    assert np.array(drawn.z) ** 4 == pytest.approx(np.array(drawn.customdata), abs=2e-3)


def test_map_of_a_hundred_labels_names_them_all_with_room_for_each():
    figure = draw_cooccurrence(*counts_of(label_sets(labels=100), 100))
    names = figure.layout.yaxis.ticktext
    assert len(set(names)) == len(figure.data[0].y) == 100
    assert figure.layout.height / len(names) > figure.layout.yaxis.tickfont.size
    assert figure.layout.title.text.endswith("of every label")
    assert figure.layout.meta["height"] == figure.layout.height


def test_label_that_no_training_document_carries_is_not_on_the_map():
    drawn = draw_cooccurrence(*counts_of([["l0"], ["l0", "l2"]], 3)).data[0]
    assert list(drawn.x) == ["l0", "l2"]


def test_labels_per_document_are_shares_of_each_split():
    figure = draw_labels_per_document({"train": np.array([0, 1, 1, 3]), "test": np.array([2, 45])})
    bars = {
        trace.name: {name: share for name, share in zip(trace.x, trace.y, strict=True) if share}
        for trace in figure.data
    }
    assert bars == {
        "train": {"0": 0.25, "1": 0.5, "3": 0.25},
        "test": {"2": 0.5, "30 or more": 0.5},
    }


def test_lengths_are_shares_of_each_split_but_the_longest():
    random = np.random.default_rng(0)
    words = {"train": random.integers(5, 200, 5000), "test": random.integers(5, 200, 500)}
    words["train"][:10] = 10_000
    figure = draw_document_lengths(words)
    for trace in figure.data:
        assert sum(trace.y) == pytest.approx(0.99, abs=0.011)
        assert max(trace.x) < 200


@pytest.mark.parametrize("longest", [9, 24, 60])
def test_bins_of_lengths_hold_as_many_lengths_each_and_none_is_empty_by_rounding(longest):
    figure = draw_document_lengths({"train": np.repeat(np.arange(longest + 1), 100)})
    shares = figure.data[0].y
    assert len(shares) <= 25
    assert min(shares) > 0
    assert shares[:-1] == pytest.approx([shares[0]] * (len(shares) - 1))


def test_labels_that_always_co_occur_have_probability_one():
    (cells,) = draw_cooccurrence(*counts_of([["l0", "l1"], ["l0"]], 2)).data
    rows = [dict(zip(cells.x, values, strict=True)) for values in cells.z]
    given = dict(zip(cells.y, rows, strict=True))
    assert given == {"l0": {"l0": 1.0, "l1": 0.5}, "l1": {"l0": 1.0, "l1": 1.0}}
