"""Nodes below ``targets``: what they look at, what they give."""

import numpy as np
import pandas as pd
import pytest
from losslab.pipelines.targets.group_nodes import group_labels
from losslab.pipelines.targets.keyword_nodes import (
    count_training_words,
    relate_words_to_documents,
    relate_words_to_labels,
    smooth_by_words,
    smooth_classically,
    weigh_words_by_tfidf,
)
from losslab.supervision.words import WORD
from scipy import sparse

from losslab.errors import SupervisionError
from losslab.parameters import KeywordSettings, LabelGroupSettings, SoftLabelSettings
from losslab.supervision import classic_soft_labels, count_words, keyword_soft_labels

LABELS = ["fruit:apple", "fruit:pear", "pet"]
KEYWORDS = KeywordSettings(lowercase=True, token_pattern=WORD, segmenter=None, k1=2, b=0.75, k2=2)
SMOOTHING = SoftLabelSettings(eps=0.1, tf="log")
GROUPS = {"separator": ":", "file": None, "seed": 0, "resolution": 1.0}


@pytest.fixture
def corpus():
    """Test and validation documents stand among the training ones and hold words of their own."""
    texts = ["red apple", "hidden word", "green pear", "secret", "a cat and an apple", "pear cat"]
    splits = ["train", "test", "train", "validation", "train", "train"]
    documents = pd.DataFrame({"id": list("abcdef"), "text": texts, "split": splits})
    targets = [[1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 0], [1, 0, 1], [0, 1, 1]]
    return documents, sparse.csr_array(np.array(targets, dtype=np.int8))


def test_words_are_those_of_training_documents(corpus):
    counts, vocabulary = count_training_words(corpus[0], KEYWORDS)
    assert counts.shape[0] == 4
    assert not {"hidden", "word", "secret"} & set(vocabulary)


def test_soft_labels_are_those_of_the_library_and_go_by_rows_of_the_corpus(corpus):
    documents, targets = corpus
    counts, _ = count_training_words(documents, KEYWORDS)
    words = relate_words_to_labels(counts, targets, documents, LABELS, KEYWORDS)
    soft = smooth_by_words(relate_words_to_documents(counts, KEYWORDS), words, counts, documents)
    train = [0, 2, 4, 5]
    texts = documents["text"].iloc[train]
    expected = keyword_soft_labels(count_words(texts)[0], targets[train], k1=2, b=0.75, k2=2)
    assert np.allclose(soft(np.array(train)), expected, atol=1e-6)
    with pytest.raises(SupervisionError, match="no soft labels for row 1"):
        soft(np.array([1]))


def test_classic_soft_labels_go_by_rows_of_the_corpus(corpus):
    documents, targets = corpus
    soft = smooth_classically(targets, documents, SMOOTHING)
    expected = classic_soft_labels(targets[[5, 0]], eps=0.1)
    assert np.allclose(soft(np.array([5, 0])), expected)


@pytest.mark.parametrize("relate", [relate_words_to_labels, weigh_words_by_tfidf])
def test_labels_without_training_documents_are_named(corpus, relate):
    documents, targets = corpus
    documents = documents.assign(split=["train", "train", "test", "test", "train", "test"])
    counts, _ = count_training_words(documents, KEYWORDS)
    options = KEYWORDS if relate is relate_words_to_labels else SMOOTHING
    with pytest.raises(SupervisionError, match=r"1 of 3 labels have no .*: 'fruit:pear'; give"):
        relate(counts, targets, documents, LABELS, options)


@pytest.mark.parametrize(
    ("by", "sizes"),
    [("prefix", [2, 1]), ("coarse", [2, 1]), ("none", [1, 1, 1]), ("communities", [3])],
)
def test_labels_are_grouped_as_asked(corpus, by, sizes):
    documents, targets = corpus
    options = LabelGroupSettings(by=by, **GROUPS)
    membership, table = group_labels(targets, documents, LABELS, options)
    assert table["labels"].tolist() == sizes
    assert sorted(np.asarray(membership.sum(axis=0)).ravel().tolist(), reverse=True) == sizes
    assert table["occurrences"].sum() == 6  # of the training split


def test_groups_file_leads_where_it_is_asked_for(corpus, tmp_path):
    documents, targets = corpus
    file = tmp_path / "groups.yml"
    file.write_text("x: ['fruit:apple', pet]\n")
    options = LabelGroupSettings(by="file", **{**GROUPS, "file": str(file)})
    membership, _ = group_labels(targets, documents, LABELS, options)
    assert membership.toarray().tolist() == [[1, 0], [0, 1], [1, 0]]


def test_groups_by_file_need_a_file():
    with pytest.raises(ValueError, match="by: file needs file"):
        LabelGroupSettings(by="file", **GROUPS)
