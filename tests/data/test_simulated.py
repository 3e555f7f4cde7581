import numpy as np
import pytest

from losslab.data import encode_labels
from losslab.data.readers.simulated import (
    label_distribution,
    label_probabilities,
    label_words,
    read_simulated,
)
from losslab.errors import CorpusError


@pytest.fixture(scope="module")
def large():
    corpus = read_simulated(documents=20_000, labels=40, words=5, cardinality=4, skew=1.2)
    truth = label_distribution(40, cardinality=4, skew=1.2, cooccurrence=0.5)
    targets = encode_labels(corpus.documents["labels"], truth["label"].tolist())
    return truth, targets.astype(int)


def test_probabilities_follow_a_power_of_the_rank_and_add_up():
    probabilities = label_probabilities(100, 2.5, skew=1.0)
    assert probabilities.sum() == pytest.approx(2.5)
    assert probabilities[0] / probabilities[9] == pytest.approx(10)


def test_no_label_is_surer_than_nine_in_ten():
    probabilities = label_probabilities(10, 5, skew=2.0)
    assert probabilities.max() == pytest.approx(0.9)
    assert probabilities.sum() == pytest.approx(5)
    assert (np.diff(probabilities) <= 0).all()


def test_impossible_cardinality_is_told():
    with pytest.raises(CorpusError, match=r"cardinality up to 0\.9 x 3 labels, found 2\.8"):
        read_simulated(labels=3, cardinality=2.8)


def within(observed, expected, draws, deviations=5):
    """Whether frequencies are as probable as the truth says, within so many deviations."""
    return np.abs(observed - expected) <= deviations * np.sqrt(expected * (1 - expected) / draws)


def test_labels_are_as_frequent_as_the_truth_says(large):
    truth, targets = large
    observed = np.asarray(targets.mean(axis=0)).ravel()
    assert within(observed, truth["probability"].to_numpy(), targets.shape[0]).all()


def test_labels_occur_together_as_the_truth_says(large):
    truth, targets = large
    p, group = truth["probability"].to_numpy(), truth["group"].to_numpy()
    expected = np.outer(p, p)
    same = group[:, None] == group[None, :]
    together = truth["group_probability"].to_numpy()[:, None]
    expected[same] = (expected / together)[same]
    observed = (targets.T @ targets).toarray() / targets.shape[0]
    pairs = ~np.eye(len(p), dtype=bool)
    assert within(observed, expected, targets.shape[0])[pairs].all()
    bound = same & pairs & (together < 0.9)  # a group that is nearly always there binds nothing
    assert (observed > np.outer(p, p))[bound].mean() > 0.95


def test_words_betray_the_labels():
    corpus = read_simulated(documents=50, labels=10, words=200, noise=0.2)
    words = {f"label-{number}": set(label_words(number)) for number in range(10)}
    for row in corpus.documents.itertuples():
        seen = set(row.text.split())
        assert {name for name, own in words.items() if seen & own} == set(row.labels)


def test_the_same_seed_gives_the_same_corpus():
    one, two, other = (read_simulated(documents=30, seed=seed).documents for seed in (1, 1, 2))
    assert one.equals(two)
    assert not one.equals(other)


def test_sizes_are_as_asked():
    corpus = read_simulated(documents=12, labels=7, words=9, cardinality=2)
    assert len(corpus.documents) == 12
    assert corpus.documents["id"].is_unique
    assert corpus.documents["text"].str.split().map(len).tolist() == [9] * 12
    assert set(corpus.documents["labels"].explode().dropna()) <= {f"label-{n}" for n in range(7)}


def test_no_two_labels_share_a_word():
    words = [word for number in range(200) for word in label_words(number)]
    assert len(words) == len(set(words)) == 1000
