import numpy as np
import pytest
from safetensors.numpy import load, save
from scipy import sparse

from losslab.evaluation import Predictions, predict, predict_labels

RULES = {
    "own": {"threshold": 0.5},
    "tuned": {"threshold": 0.43},
    "per_label": {"thresholds": [0.1, 0.5, 0.9, 0.3]},
    "top_k": {"k": 2},
}


def scores(documents=9):
    random = np.random.default_rng(0)
    return {
        "seeds": np.array([3, 1]),
        "validation": random.random((2, documents + 1, 4), dtype=np.float32),
        "test": random.random((2, documents, 4), dtype=np.float32),
    }


def predictions(documents=9):
    return predict(scores(documents), {"primary": "tuned", "seeds": {"3": RULES, "1": RULES}})


def test_every_rule_is_applied_to_every_seed_of_both_splits():
    made = predictions()
    assert (made.primary, made.rules, made.seeds) == ("tuned", tuple(RULES), ("3", "1"))
    for split in ("validation", "test"):
        for seed, values in zip((3, 1), scores()[split], strict=True):
            for rule, decision in RULES.items():
                matrix = made.of(split, rule, seed)
                assert matrix.dtype == bool
                assert (matrix.toarray() == predict_labels(decision, values)).all()


def test_seeds_are_listed_by_the_primary_rule_unless_another_is_given():
    made = predictions()
    for rule in (None, "top_k"):
        for matrix, seed in zip(made.by_seed("test", rule), ("3", "1"), strict=True):
            assert (matrix != made.of("test", rule or "tuned", seed)).nnz == 0


@pytest.mark.parametrize("documents", [9, 0])
def test_predictions_survive_a_file_of_plain_arrays(documents):
    made = predictions(documents)
    read = Predictions.from_arrays(load(save(made.to_arrays())))
    assert (read.primary, read.rules, read.seeds) == (made.primary, made.rules, made.seeds)
    for key, matrix in made.matrices.items():
        assert read.matrices[key].shape == matrix.shape
        assert read.matrices[key].dtype == bool
        assert (read.matrices[key] != matrix).nnz == 0


def test_predictions_do_not_depend_on_the_blocks_they_are_made_in(monkeypatch):
    whole = predictions()
    monkeypatch.setattr("losslab.evaluation.confusion.BLOCK", 8)
    for key, matrix in predictions().matrices.items():
        assert (matrix != whole.matrices[key]).nnz == 0
        assert isinstance(matrix, sparse.csr_array)


def test_rule_that_was_not_fitted_is_an_error():
    with pytest.raises(KeyError, match="argmax"):
        predictions().of("test", "argmax", 3)
