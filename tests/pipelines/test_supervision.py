"""Nodes of supervision: what they look at, what they give."""

import logging

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from losslab.errors import SupervisionError
from losslab.parameters import (
    FrequencyGroupSettings,
    KeywordSettings,
    LabelGroupSettings,
    SoftLabelSettings,
)
from losslab.pipelines.supervision import nodes
from losslab.supervision import (
    classic_soft_labels,
    cooccurrence,
    count_words,
    describe_labels,
    keyword_soft_labels,
)
from losslab.supervision.word_counts import WORD

LABELS = ["fruit:apple", "fruit:pear", "pet"]
KEYWORDS = KeywordSettings(lowercase=True, token_pattern=WORD, segmenter=None, k1=2, b=0.75, k2=2)
SMOOTHING = SoftLabelSettings(eps=0.1, tf="log", soft_zlpr="classic")
GROUPS = {"separator": ":", "groups": None, "seed": 0, "resolution": 1.0}
TRAIN = [0, 2, 4, 5]


@pytest.fixture
def corpus():
    """Test and validation documents stand among the training ones and hold words of their own."""
    texts = ["red apple", "hidden word", "green pear", "secret", "a cat and an apple", "pear cat"]
    splits = ["train", "test", "train", "validation", "train", "train"]
    documents = pd.DataFrame({"id": list("abcdef"), "text": texts, "split": splits})
    targets = [[1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 0], [1, 0, 1], [0, 1, 1]]
    return documents, sparse.csr_array(np.array(targets, dtype=np.int8))


def labels_seen(label_matrix, splits):
    """Co-occurrence and statistics of the training labels."""
    train = label_matrix[(splits["split"] == "train").to_numpy()]
    return cooccurrence(train), describe_labels(train)


@pytest.fixture
def without_pears(corpus):
    """No training document is of the second label."""
    splits, label_matrix = corpus
    return splits.assign(split=["train", "train", "test", "test", "train", "test"]), label_matrix


def keyword_labels(splits, label_matrix):
    counts, _ = nodes.count_training_words(splits, KEYWORDS)
    by_label = nodes.relate_words_to_labels(counts, label_matrix, splits, KEYWORDS)
    by_document = nodes.relate_words_to_documents(counts, KEYWORDS)
    return nodes.smooth_by_words(by_document, by_label, counts, splits), by_label


def tfidf_labels(splits, label_matrix):
    counts, _ = nodes.count_training_words(splits, KEYWORDS)
    by_label, by_document = nodes.weigh_words_by_tfidf(counts, label_matrix, splits, SMOOTHING)
    return nodes.smooth_by_words(by_document, by_label, counts, splits), by_label


def group(corpus, labels=LABELS, **settings):
    splits, label_matrix = corpus
    none = FrequencyGroupSettings(head_min=None, tail_max=None)
    statistics, _ = nodes.compute_label_statistics(label_matrix, labels, splits, none)
    together = nodes.count_cooccurrence(label_matrix, splits)
    return nodes.group_labels(
        together, statistics, labels, LabelGroupSettings(**{**GROUPS, **settings})
    )


def test_statistics_are_those_of_training_documents(corpus):
    splits, label_matrix = corpus
    groups = FrequencyGroupSettings(head_min=None, tail_max=None)
    found, table = nodes.compute_label_statistics(label_matrix, LABELS, splits, groups)
    assert found["frequencies"] == [2, 2, 2]
    assert found["documents"] == 4
    in_splits = table.set_index("label").loc["pet", ["train", "validation", "test"]]
    assert in_splits.tolist() == [2, 0, 1]
    together = nodes.count_cooccurrence(label_matrix, splits).toarray().tolist()
    assert together == [[2, 0, 1], [0, 2, 1], [1, 1, 2]]


def test_words_are_those_of_training_documents(corpus):
    counts, vocabulary = nodes.count_training_words(corpus[0], KEYWORDS)
    assert counts.shape[0] == 4
    assert not {"hidden", "word", "secret"} & set(vocabulary)


def test_soft_labels_are_those_of_the_library_and_go_by_rows_of_the_corpus(corpus):
    splits, label_matrix = corpus
    soft, _ = keyword_labels(splits, label_matrix)
    texts = splits["text"].iloc[TRAIN]
    expected = keyword_soft_labels(count_words(texts)[0], label_matrix[TRAIN], k1=2, b=0.75, k2=2)
    assert np.allclose(soft(np.array(TRAIN)), expected, atol=1e-6)
    with pytest.raises(SupervisionError, match="no soft labels for row 1"):
        soft(np.array([1]))


def test_classic_soft_labels_go_by_rows_of_the_corpus(corpus):
    splits, label_matrix = corpus
    soft = nodes.smooth_uniformly(label_matrix, splits, SMOOTHING)
    expected = classic_soft_labels(label_matrix[[5, 0]], eps=0.1)
    assert np.allclose(soft(np.array([5, 0])), expected)


@pytest.mark.parametrize("towards", ["classic", "keywords"])
def test_targets_of_soft_zlpr_are_mixed_with_uniform_or_keyword_labels(corpus, towards):
    splits, label_matrix = corpus
    keywords, _ = keyword_labels(splits, label_matrix)
    settings = SoftLabelSettings(eps=0.2, tf="log", soft_zlpr=towards)
    given = {} if towards == "classic" else {"towards": keywords}
    soft = nodes.smooth_zlpr_targets(label_matrix, splits, settings, **given)
    rows = np.array(TRAIN)
    distribution = 1 / 3 if towards == "classic" else keywords(rows)
    expected = 0.8 * label_matrix[rows].toarray() + 0.2 * distribution
    assert np.allclose(soft(rows), expected, atol=1e-6)


@pytest.mark.parametrize("make", [keyword_labels, tfidf_labels])
def test_label_without_training_documents_has_relevance_0_and_is_counted(
    without_pears, make, caplog
):
    with caplog.at_level(logging.INFO, logger="losslab"):
        soft, relevance = make(*without_pears)
    assert relevance[:, [1]].nnz == 0
    assert relevance[:, [0]].nnz > 0
    block = soft(np.array([0, 1, 4]))
    assert np.isfinite(block).all()
    assert np.allclose(block.sum(axis=1), 1)
    told = "1 labels without words in training documents: relevance 0"
    assert told in [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize(
    ("by", "sizes"),
    [("prefix", [2, 1]), ("coarse", [2, 1]), ("none", [1, 1, 1]), ("communities", [3])],
)
def test_labels_are_grouped_as_asked(corpus, by, sizes):
    splits, label_matrix = corpus
    settings = LabelGroupSettings(by=by, **GROUPS)
    membership, table = nodes.group_labels(*labels_seen(label_matrix, splits), LABELS, settings)
    assert table["labels"].tolist() == sizes
    assert sorted(np.asarray(membership.sum(axis=0)).ravel().tolist(), reverse=True) == sizes
    assert table["occurrences"].sum() == 6  # of the training split


def test_labels_are_grouped_by_polarity(corpus):
    splits, label_matrix = corpus
    settings = LabelGroupSettings(by="polarity", **GROUPS)
    labels = ["negative", "positive", "very positive"]
    membership, _ = nodes.group_labels(*labels_seen(label_matrix, splits), labels, settings)
    assert membership.toarray().tolist() == [[1, 0], [0, 1], [0, 1]]


def test_listed_groups_are_taken_as_listed(corpus):
    splits, label_matrix = corpus
    listed = {**GROUPS, "groups": {"x": ["fruit:apple", "pet"]}}
    settings = LabelGroupSettings(by="listed", **listed)
    membership, _ = nodes.group_labels(*labels_seen(label_matrix, splits), LABELS, settings)
    assert membership.toarray().tolist() == [[1, 0], [0, 1], [1, 0]]


def test_listed_groups_have_to_be_listed():
    with pytest.raises(ValueError, match="by: listed needs groups"):
        LabelGroupSettings(by="listed", **GROUPS)


def test_keywords_of_each_label_are_listed(corpus):
    splits, label_matrix = corpus
    counts, vocabulary = nodes.count_training_words(splits, KEYWORDS)
    relevance = nodes.relate_words_to_labels(counts, label_matrix, splits, KEYWORDS)
    table = nodes.list_keywords(relevance, vocabulary, LABELS, label_matrix, splits)
    apple = table[table["label"] == "fruit:apple"]
    assert "apple" in " ".join(map(str, apple.to_numpy().ravel()))
