"""Likely mislabelled documents."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from losslab.evaluation import doubt_labels, find_suspects
from losslab.evaluation.label_noise import MIN_DOUBT

LABELS = list("abcd")


@pytest.fixture
def probabilities():
    """Of three losses, two seeds each, for forty documents."""
    random = np.random.default_rng(0)
    return {loss: random.random((2, 40, 4)) ** 0.2 for loss in ("bce", "db", "asl")}


@pytest.fixture
def truth():
    return (np.random.default_rng(1).random((40, 4)) < 0.3).astype(int)


def documents(count=40):
    ids = [f"d{number}" for number in range(count)]
    return pd.DataFrame({"id": ids, "text": ids, "split": "test"})


def find(truth, probabilities):
    matrix = sparse.csr_array(truth)
    doubts = {loss: doubt_labels(matrix, scores) for loss, scores in probabilities.items()}
    return find_suspects(documents(len(truth)), matrix, doubts, labels=LABELS)


def test_doubts_are_the_distances_of_probability_and_label_above_a_half(truth, probabilities):
    drawn = doubt_labels(sparse.csr_array(truth), probabilities["bce"]).toarray()
    for (row, label), gold in np.ndenumerate(truth):
        distance = abs(gold - np.mean([seed[row, label] for seed in probabilities["bce"]]))
        assert drawn[row, label] == pytest.approx(distance if distance > 0.5 else 0)


def test_suspects_are_entries_of_high_mean_doubt_the_strongest_first(truth, probabilities):
    found = find(truth, probabilities)
    expected = {}
    for (row, label), gold in np.ndenumerate(truth):
        distances = [abs(gold - each[:, row, label].mean()) for each in probabilities.values()]
        mean = np.mean([distance if distance > 0.5 else 0 for distance in distances])
        if mean >= MIN_DOUBT:
            expected[f"d{row}", LABELS[label]] = (bool(gold), mean)
    assert expected
    told = {(row["id"], row["label"]): row for row in found.to_dict("records")}
    assert told.keys() == expected.keys()
    for key, (gold, mean) in expected.items():
        assert told[key]["gold"] == gold
        assert told[key]["probability"] == pytest.approx(1 - mean if gold else mean, abs=1e-3)
    means = [expected[row["id"], row["label"]][1] for row in found.to_dict("records")]
    assert means == sorted(means, reverse=True)


def test_labels_that_were_flipped_are_found_where_the_losses_know_them(truth):
    random = np.random.default_rng(2)
    sure = np.where(truth, 0.97, 0.03) + random.normal(0, 0.01, (3, 1, *truth.shape))
    flipped = {(3, 1), (17, 0), (39, 3)}
    wrong = truth.copy()
    for place in flipped:
        wrong[place] = 1 - wrong[place]
    scores = dict(zip(("bce", "db", "asl"), sure, strict=True))
    found = find(wrong, scores)
    places = {
        (int(name[1:]), LABELS.index(label)) for name, label in found[["id", "label"]].to_numpy()
    }
    assert places == flipped
    assert find(truth, scores).empty


def test_two_losses_are_too_few_to_suspect_a_document(truth, probabilities):
    del probabilities["asl"]
    assert find(truth, probabilities).empty


def test_a_split_without_documents_has_no_doubts():
    assert doubt_labels(sparse.csr_array((0, 4)), np.zeros((2, 0, 4))).shape == (0, 4)
