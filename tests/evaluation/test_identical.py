"""Losses with the same results."""

import numpy as np
from scipy import sparse

from losslab.evaluation import explain_idleness, identical_losses


def predicted(*rows):
    return sparse.csr_array(np.array(rows, dtype=bool))


def test_losses_are_identical_that_agree_in_every_metric_and_prediction():
    one, other = predicted([1, 0], [0, 1]), predicted([1, 0], [1, 1])
    predictions = {
        "bce": [one, one],
        "db": [one, other],
        "mask": [one.copy(), one],
        "asl": [one, one],
    }
    metrics = {loss: {"seeds": {"1": {"macro_f1": 0.5}}} for loss in predictions}
    metrics["asl"] = {"seeds": {"1": {"macro_f1": 0.4}}}  # its scores differ
    assert identical_losses(metrics, predictions) == [["bce", "mask"]]


def test_a_mask_is_idle_that_holds_gold_labels_alone():
    gold = sparse.csr_array([[1, 0], [0, 1]])
    assert "mask is empty" in explain_idleness(gold, None, gold)
    assert "mask is empty" in explain_idleness(sparse.csr_array((2, 2)), None, gold)
    assert explain_idleness(sparse.csr_array([[1, 1], [0, 0]]), None, gold) == ""
    assert explain_idleness(None, None, None) == ""


def test_groups_are_idle_where_none_has_two_labels():
    assert "no two labels" in explain_idleness(None, sparse.eye_array(3, format="csr"), None)
    assert explain_idleness(None, sparse.csr_array([[1], [1]]), None) == ""
