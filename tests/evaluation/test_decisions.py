import numpy as np
import pytest

from losslab.evaluation import probabilities


def test_sigmoid_rule_turns_logits_into_probabilities():
    chances = probabilities(np.array([[0.0, 2.0, -2.0]]), "sigmoid")
    assert chances == pytest.approx(np.array([[0.5, 1 / (1 + np.exp(-2)), 1 / (1 + np.exp(2))]]))


def test_extreme_logits_give_the_ends_without_overflow():
    with np.errstate(all="raise", under="ignore"):
        assert probabilities(np.array([1e4, -1e4]), "sigmoid").tolist() == [1.0, 0.0]


def test_unknown_rule_is_refused():
    with pytest.raises((KeyError, ValueError), match="softmax"):
        probabilities(np.zeros((1, 2)), "softmax")
