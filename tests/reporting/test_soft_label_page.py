import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from losslab.reporting.soft_label_page import (
    build_soft_label_page,
    choose_documents,
    describe_document,
    render_soft_labels,
)
from losslab.supervision import SoftLabels, find_words

WORDS = ["apple", "cat", "the"]
LABELS = ["fruit", "pet", "<b>odd</b>"]
SOFT = SoftLabels(
    sparse.csr_array([[1.0, 0, 1], [0, 2, 0], [1, 1, 0]]),
    sparse.csr_array([[4.0, 0, 0], [0, 3, 0], [0, 1, 0]]),
    rows=np.array([0, 2, 5]),
)
TARGETS = sparse.csr_array([[1, 0, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0], [1, 1, 0]])


@pytest.fixture
def case():
    column = {word: index for index, word in enumerate(WORDS)}
    return describe_document(0, "The <i>apple", SOFT, TARGETS, LABELS, column, find_words)


def test_document_shows_its_strongest_labels_first_and_marks_those_it_carries(case):
    assert [(bar["label"], bar["gold"]) for bar in case["bars"]] == [
        ("fruit", True),
        ("pet", False),
        ("<b>odd</b>", False),
    ]
    values = [bar["value"] for bar in case["bars"]]
    assert values == sorted(values, reverse=True)
    assert np.isclose(sum(values), 1)
    assert case["bars"][0]["share"] == 1
    assert case["bars"][-1]["share"] == 0


def test_words_are_coloured_by_what_they_add_to_a_label(case):
    assert case["pieces"] == [
        ("The", "the"),
        (" <", ""),
        ("i", "i"),
        (">", ""),
        ("apple", "apple"),
    ]
    assert case["bars"][0]["heat"] == [0, 0, 1]
    assert case["bars"][1]["heat"] == [1, 0, 0]
    assert case["bars"][2]["heat"] == [0, 0, 0]


def test_label_that_is_carried_is_shown_however_weak():
    words = sparse.csr_array(np.arange(1.0, 21)[None, :])
    soft = SoftLabels(sparse.csr_array([[1.0]]), words)
    targets = sparse.csr_array((np.ones(1), ([0], [0])), shape=(1, 20))
    names = [str(label) for label in range(20)]
    case = describe_document(0, "x", soft, targets, names, {"x": 0}, find_words)
    assert case["bars"][0]["label"] == "19"
    assert case["bars"][-1] == case["bars"][-1] | {"label": "0", "gold": True}


def test_surprising_documents_are_those_whose_strongest_label_they_do_not_carry():
    surprising, random = choose_documents(SOFT, TARGETS, surprising=1, random=9)
    assert surprising.tolist() == [2]
    assert sorted(random.tolist()) == [0, 5]


def test_page_escapes_texts_and_labels_and_loads_nothing(case):
    table = pd.DataFrame([{"label": "<script>x", "documents": 3, "keywords": "a & b"}])
    sections = {"Some": [{"id": "<7>", **case}], "None": []}
    page = render_soft_labels(sections, table, dataset="cwe", labels=3, documents=3)
    assert "&lt;b&gt;odd&lt;/b&gt;" in page
    assert "&lt;script&gt;x" in page
    assert "a &amp; b" in page
    assert "&lt;7&gt;" in page
    assert " &lt;<i>i</i>&gt;<i>apple</i>" in page
    assert not re.search(r"(src|href)=", page)
    assert ">None<" not in page


def test_page_is_built_from_documents_words_and_keywords():
    documents = pd.DataFrame({"id": list("abcdef"), "text": ["apple"] * 6})
    table = pd.DataFrame([{"label": "fruit", "documents": 3, "keywords": "apple"}])
    page = build_soft_label_page(
        SOFT,
        documents,
        TARGETS,
        LABELS,
        WORDS,
        table,
        tokenization={"lowercase": True},
        dataset="x",
    )
    assert page.count("<article>") == 3  # each training document once
    assert "Strongest label is not among" in page
    assert "<i>apple</i>" in page
