import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from losslab.data import check_one_label, encode_labels, label_space
from losslab.data.corpus_summary import (
    examine_splits,
    summary_lines,
    tabulate_corpus,
    word_count,
)
from losslab.errors import CorpusError

ROWS = [
    ("d1", "one two three", ["a", "b"], "train"),
    ("d2", "one", ["a"], "train"),
    ("d3", "one two", [], "train"),
    ("d4", "one two ", ["a", "c"], "validation"),
    ("d5", "one", ["d"], "test"),
    ("d6", "one two", ["c"], "test"),
    ("d7", "four words are here", ["a"], "test"),
]


@pytest.fixture
def documents():
    return pd.DataFrame(ROWS, columns=["id", "text", "labels", "split"])


@pytest.fixture
def targets(documents):
    return encode_labels(documents["labels"], label_space(documents["labels"]))


@pytest.mark.parametrize(
    ("text", "words"),
    [("", 0), ("a b\n c", 3), ("caffè nero", 2), ("一种装置", 4), ("一种 LED 灯", 4)],
)
def test_words_stand_between_blanks_and_ideographs_by_themselves(text, words):
    assert word_count(text) == words


def test_table_has_a_row_for_the_whole_and_for_each_split(documents, targets):
    table = tabulate_corpus(documents, targets, [1]).set_index("split")
    assert table.index.tolist() == ["all", "train", "validation", "test"]
    assert table["instances"].tolist() == [7, 3, 1, 3]
    assert table["average_words"].tolist() == pytest.approx([15 / 7, 2, 2, 7 / 3])
    assert table["categories"].tolist() == [4, 2, 2, 3]
    assert table["cardinality"].tolist() == pytest.approx([8 / 7, 1, 2, 1])
    assert table["density"].tolist() == pytest.approx([2 / 7, 1 / 2, 1, 1 / 3])
    assert table["median_cardinality"].tolist() == [1, 1, 2, 1]
    assert table["instances_per_label"].tolist() == pytest.approx([8 / 4, 3 / 2, 1, 1])
    assert table["median_instances_per_label"].tolist() == [1.5, 1.5, 1, 1]
    assert table["1 label"].tolist() == [4, 1, 0, 3]
    assert table["2 labels or more"].tolist() == [2, 1, 1, 0]


def test_documents_per_label_are_those_of_the_papers_corpora():
    """As in Table 1 of Huang et al.: the mean over labels that some document carries."""
    random = np.random.default_rng(0)
    targets = sparse.csr_array(random.random((500, 30)) < np.linspace(0.5, 0, 30))
    documents = pd.DataFrame({"text": ["a word"] * 500, "split": ["train"] * 500})
    whole = tabulate_corpus(documents, targets, [9, 14]).iloc[0]
    frequencies = targets.sum(axis=0)
    assert whole["instances_per_label"] == pytest.approx(frequencies[frequencies > 0].mean())
    assert whole["median_instances_per_label"] == np.median(frequencies[frequencies > 0])
    number = targets.sum(axis=1)
    expected = [((number > 0) & (number < 10)).sum(), ((number > 9) & (number < 15)).sum()]
    assert whole[["up to 9 labels", "10 to 14 labels"]].tolist() == expected
    assert whole["15 labels or more"] == (number > 14).sum()


def test_splits_are_examined_for_labels_not_learnt_bare_documents_and_leaks(documents, targets):
    assert examine_splits(documents, targets) == {
        "labels_only_in_test": 1,
        "labels_not_in_train": 2,
        "documents_without_labels": {"train": 1, "validation": 0, "test": 0},
        "duplicate_texts": {"validation": {"train": 1}, "test": {"train": 2, "validation": 1}},
    }


def test_only_what_was_found_is_told(documents, targets):
    found = {
        "rejected": {"row is cut short": 1200},
        "excluded": {"no consequences": 0},
        "labels_dropped": 3,
        "documents_undersampled": 0,
        **examine_splits(documents, targets),
    }
    assert summary_lines(found) == [
        "1,200 rows rejected: row is cut short",
        "3 labels below min_label_frequency, dropped",
        "1 labels only in test",
        "2 labels without training documents",
        "1 train documents without labels",
        "1 validation documents with a text that is also in train",
        "2 test documents with a text that is also in train",
        "1 test documents with a text that is also in validation",
    ]


def test_the_fold_is_told_first():
    lines = summary_lines({"fold": "2 of 4", "labels_dropped": 3})
    assert lines[0].startswith("fold 2 of 4: ")
    assert len(lines) == 2
    assert summary_lines({"fold": None}) == []


def test_a_sample_is_told_before_all():
    lines = summary_lines({"sample": True, "fold": "2 of 4"})
    assert lines[0] == "a sample of the corpus, too few rows for a result"
    assert summary_lines({"sample": False}) == []


def test_single_task_wants_exactly_one_label(documents):
    check_one_label(documents[documents["labels"].map(len) == 1])
    message = "of 7 documents 1 have no label, such as d3; 2 have several labels, such as d1, d4"
    with pytest.raises(CorpusError, match=message):
        check_one_label(documents)
