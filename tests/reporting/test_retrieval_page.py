"""The page, the plot and the terminal's table of a retrieval run."""

import json
import re

import numpy as np
import pytest

from losslab.reporting import retrieval_to_markdown
from losslab.reporting.retrieval_page import RetrievalRunPart, draw_recall, render_retrieval
from losslab.retrieval import compare_methods, evaluate_ranks

RANDOM = np.random.default_rng(0)
HARD = RANDOM.integers(2, 60, size=300)
CORPUS = {
    "sample": True,
    "notes": {},
    "rejected": {"question '…': <b>no answer</b>": 2},
    "excluded": {"a question without an answer": 3},
    "splits": {
        name: {"questions": 300, "candidates": 1234, "articles": 7}
        for name in ("train", "validation", "test")
    },
}
RUN = {"dataset": "squad", "recipe": "probe", "reference": "ce", "confidence": 0.95}
RUN |= {"resamples": 200, "negatives": 64, "batch_size": 32, "command": "kedro run <x>"}


@pytest.fixture(scope="module")
def comparison():
    ranks = {
        "ce": {"1": HARD, "2": HARD + 1},
        "kwls": {"1": HARD - 1, "2": HARD - 1},
        "ls_classic": {"1": HARD, "2": HARD + 1},
        "bm25": {"0": np.ones(300, dtype=int)},
    }
    results = {
        name: evaluate_ranks(each, [1, 10], resamples=200, seed=0, confidence=0.95)
        for name, each in ranks.items()
    }
    metrics, drawn = ({name: pair[part] for name, pair in results.items()} for part in (0, 1))
    metrics["ls_classic"]["training"] = {"mark": "stopped before it had learned: <i>"}
    return compare_methods(metrics, drawn, reference="ce", confidence=0.95)


def page(comparison, failed=None):
    figure = draw_recall(comparison)
    return render_retrieval(comparison, figure, CORPUS, failed or {}, RetrievalRunPart(**RUN))


def test_terminal_shows_every_metric_and_the_difference_by_mrr(comparison):
    header, _, *rows = retrieval_to_markdown(comparison, "ce").splitlines()
    names = [cell.strip() for cell in header.split("|")[1:-1]]
    assert names == ["method", "Recall@1", "Recall@10", "MRR", "MRR vs ce", "p (Holm)"]
    cells = {row.split("|")[1].strip(): [c.strip() for c in row.split("|")[2:-1]] for row in rows}
    assert cells["bm25"][:3] == ["1.000", "1.000", "1.000"]
    expected = np.mean(1 / (HARD - 1)) - np.mean([1 / HARD, 1 / (HARD + 1)])
    assert cells["kwls"][3] == f"{expected:+.3f}"
    assert cells["ce"][3:] == ["", ""]


def test_page_names_the_best_trained_method_and_references_above_it(comparison):
    text = " ".join(re.sub(r"<[^>]+>", " ", page(comparison).split("<script>")[1]).split())
    assert "kwls has the best MRR" in text
    assert "significant (p " in text
    assert "Better than every trained model: bm25" in text


def test_page_has_a_row_per_method_and_says_what_failed_or_had_not_learned(comparison):
    html = page(comparison, {"ls_distill": "the loss is <nan>"})
    assert re.findall(r'<tr data-loss="(\w+)"', html) == ["ce", "kwls", "ls_classic", "bm25"]
    assert "the loss is &lt;nan&gt;" in html
    assert "had learned: &lt;i&gt;" in html
    assert "of all 1,234 candidates" in html
    assert "Rejected: 2 with question &#39;…&#39;: &lt;b&gt;" in html
    assert "kedro run &lt;x&gt;" in html
    assert "The corpus is a sample" in html


def test_figure_has_the_values_and_their_intervals(comparison):
    figure = draw_recall(comparison)
    assert [trace.name for trace in figure.data] == ["ce", "kwls", "ls_classic", "bm25"]
    rows = comparison[comparison["method"] == "kwls"]
    trace = figure.data[1]
    np.testing.assert_allclose(trace.y, rows["value"], atol=1e-4)
    np.testing.assert_allclose(trace.y + trace.error_y.array, rows["high"], atol=2e-4)
    np.testing.assert_allclose(trace.y - trace.error_y.arrayminus, rows["low"], atol=2e-4)
    assert json.loads(figure.to_json())
