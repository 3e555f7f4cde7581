"""Predictions: the labels that decision rules make of scores, made once and read by all.

A decision is plain data: ``{"threshold": t}`` (labels that score above t), ``{"thresholds": [...]}``
(a threshold per label) or ``{"k": n}`` (the n labels of highest score).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from losslab.evaluation.confusion import row_blocks

Decision = Mapping[str, Any]
Key = tuple[str, str, str]
"""Split, rule, seed."""
SPLITS = ("validation", "test")
INDEX = "index"


@dataclass(frozen=True)
class Predictions:
    """Predicted labels by split, rule and seed: sparse boolean documents x labels matrices.

    ``primary`` is the rule that losses are compared by.
    """

    primary: str
    matrices: Mapping[Key, sparse.csr_array]

    @property
    def rules(self) -> tuple[str, ...]:
        """The decision rules, in the order they were fitted in."""
        return tuple(dict.fromkeys(rule for _, rule, _ in self.matrices))

    @property
    def seeds(self) -> tuple[str, ...]:
        """The seeds, in the order of the scores."""
        return tuple(dict.fromkeys(seed for _, _, seed in self.matrices))

    def of(self, split: str, rule: str, seed: int | str) -> sparse.csr_array:
        """Documents x labels of one split, by one rule, of one seed."""
        return self.matrices[split, rule, str(seed)]

    def by_seed(self, split: str, rule: str | None = None) -> list[sparse.csr_array]:
        """One matrix per seed, by the primary rule unless another is given."""
        return [self.of(split, rule or self.primary, seed) for seed in self.seeds]

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Plain arrays, such as a safetensors file holds: row pointers and column indices."""
        keys = [list(key) for key in self.matrices]
        shapes = [list(matrix.shape) for matrix in self.matrices.values()]
        index = {"primary": self.primary, "keys": keys, "shapes": shapes}
        arrays = {INDEX: np.frombuffer(json.dumps(index).encode(), dtype=np.uint8)}
        for key, matrix in self.matrices.items():
            arrays[f"{'/'.join(key)}/indptr"] = matrix.indptr
            arrays[f"{'/'.join(key)}/indices"] = matrix.indices
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "Predictions":
        """The inverse of ``to_arrays``."""
        index = json.loads(arrays[INDEX].tobytes())
        matrices = {}
        for key, shape in zip(index["keys"], index["shapes"], strict=True):
            indptr, indices = (arrays[f"{'/'.join(key)}/{part}"] for part in ("indptr", "indices"))
            values = np.ones(len(indices), dtype=bool)
            matrices[tuple(key)] = sparse.csr_array((values, indices, indptr), shape=tuple(shape))
        return cls(index["primary"], matrices)


def predict(scores: Mapping[str, np.ndarray], decision_rules: Mapping[str, Any]) -> Predictions:
    """Apply every decision rule to the scores of validation and test.

    Args:
        scores: ``seeds``, and ``validation`` and ``test`` of seeds x documents x labels.
        decision_rules: ``primary``, and ``seeds``: decisions by seed and rule.
    """
    matrices = {
        (split, rule, str(seed)): _predict_sparse(decision, values)
        for split in SPLITS
        for seed, values in zip(scores["seeds"], scores[split], strict=True)
        for rule, decision in decision_rules["seeds"][str(seed)].items()
    }
    return Predictions(decision_rules["primary"], matrices)


def predict_labels(decision: Decision, scores: np.ndarray) -> np.ndarray:
    """The labels that a decision makes of scores, both documents x labels.

    >>> predict_labels({"k": 1}, np.array([[0.2, 0.7], [0.4, 0.1]])).astype(int).tolist()
    [[0, 1], [1, 0]]
    >>> predict_labels({"thresholds": [0.1, 0.8]}, np.array([[0.2, 0.7]])).tolist()
    [[True, False]]
    """
    if "k" in decision:
        predicted = np.zeros(scores.shape, dtype=bool)
        np.put_along_axis(predicted, top_labels(scores, decision["k"]), True, axis=1)
        return predicted
    thresholds = decision["thresholds"] if "thresholds" in decision else decision["threshold"]
    # an array: a plain number would be rounded to the scores' type
    return np.asarray(scores > np.asarray(thresholds))


def top_labels(scores: np.ndarray, k: int) -> np.ndarray:
    """The k labels of highest score, best first; of equal scores the first labels."""
    if k == 1:
        return np.asarray(scores.argmax(axis=1)[:, None])
    return np.concatenate(
        [
            np.argsort(-scores[block], axis=1, kind="stable")[:, :k]
            for block in row_blocks(*scores.shape)
        ]
    )


def _predict_sparse(decision: Decision, scores: np.ndarray) -> sparse.csr_array:
    """A block of documents at a time: no large matrix is dense as a whole."""
    blocks = [
        sparse.csr_array(predict_labels(decision, scores[block]))
        for block in row_blocks(*scores.shape)
    ]
    stacked = sparse.vstack(blocks, format="csr") if blocks else np.zeros(scores.shape, bool)
    return sparse.csr_array(stacked, dtype=bool)
