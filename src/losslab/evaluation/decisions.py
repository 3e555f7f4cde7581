"""From logits to probabilities, by the rule of the loss that trained them."""

from collections.abc import Callable

import numpy as np
from scipy.special import expit

PROBABILITIES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "sigmoid": expit,
}
"""The decision rules that ``LossSpec.decision`` names."""


def probabilities(logits: np.ndarray, decision: str) -> np.ndarray:
    """Probabilities of ``logits`` under a decision rule.

    >>> probabilities(np.array([[0.0]]), "sigmoid").item()
    0.5
    """
    return PROBABILITIES[decision](logits)
