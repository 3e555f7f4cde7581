"""What all plots have in common."""

import json
import re

import numpy as np
import pytest
from report_parts import LABELS, label_table, page, pooled, result
from scipy import sparse

from losslab.reporting import (
    draw_confusions,
    draw_cooccurrence,
    draw_label_scatter,
    draw_long_tail,
    draw_similar_labels,
    tabulate_label_scores,
)
from losslab.reporting import plots as shared

LINK = '<a href="https://example.org">x</a> & <b>'
NAMES = [LINK, f"{LINK} 2", *LABELS[2:]]
TABLE = label_table().assign(label=NAMES)


def label_scores():
    return tabulate_label_scores({"bce": {"f1_by_label": [0.5] * 6}}, TABLE, NAMES)


def texts(value):
    """Every text of a figure."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from texts(part)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: draw_long_tail(TABLE),
        lambda: draw_cooccurrence(sparse.csr_array(np.eye(6)), NAMES),
        lambda: draw_label_scatter(label_scores(), "bce", "bce"),
        lambda: draw_similar_labels(label_scores(), ["bce"], np.ones((6, 1))),
        lambda: draw_confusions(pooled(["bce"], NAMES)),
    ],
    ids=["long_tail", "cooccurrence", "label_scatter", "similar_labels", "confused_labels"],
)
def test_labels_are_shown_as_they_are_and_no_link_is_made_of_them(draw):
    figure = json.loads(draw().to_json())
    figure["layout"].pop("template")
    shown = [re.sub(r"<extra></extra>$", "", text) for text in texts(figure)]
    assert not [text for text in shown if "<" in text]
    assert any(text.startswith("&lt;a href=") for text in shown)


def test_long_label_is_cut_before_it_is_made_literal():
    axis = shared.named_axis(["<" * 40])
    assert axis["ticktext"] == ["&lt;" * 31 + "…"]
    assert axis["tickvals"] == ["&lt;" * 40]


def test_labels_of_the_pages_own_scatter_plot_are_literal(monkeypatch):
    monkeypatch.setattr("report_parts.LABELS", NAMES)
    html = page({"bce": result(0.4)})
    data = json.loads(re.search(r'id="data">(.*?)</script>', html, flags=re.DOTALL).group(1))
    assert data["labels"]["label"][0] == shared.literal(LINK)
