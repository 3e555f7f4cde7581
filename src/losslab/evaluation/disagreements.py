"""Disagreements: documents that one loss gets exactly right and another does not; cases of several."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

MAX_DOCUMENTS = 20
MAX_CASES = 10
EXCERPT = 300  # characters of a text that are kept
COLUMNS = ("loss", "right", "id", "text", "truth", "predicted", "reference")


def tabulate_disagreements(
    documents: pd.DataFrame,
    truth: sparse.csr_array,
    predictions: Mapping[str, sparse.csr_array],
    *,
    reference: str,
    labels: Sequence[str],
    most: int = MAX_DOCUMENTS,
) -> pd.DataFrame:
    """Where a loss and the reference disagree: at most ``most`` documents each way for every loss.

    Args:
        documents: ``id`` and ``text`` of the rows of all matrices.
        truth: documents x labels; ``predictions``: the same by loss, the reference among them.
        labels: their names.

    Returns ``loss``, ``right`` (the loss or the reference), ``id``, ``text``, and the labels in
    ``truth``, ``predicted`` (by the loss) and ``reference`` (by the reference).
    """
    exact = {loss: _exact_matches(truth, predicted) for loss, predicted in predictions.items()}
    rows = []
    for loss in predictions:
        for right, wrong in ((loss, reference), (reference, loss)) if loss != reference else ():
            for row in np.flatnonzero(exact[right] & ~exact[wrong])[:most]:
                document = documents.iloc[row]
                sets = (truth, predictions[loss], predictions[reference])
                names = ("; ".join(labels[label] for label in _row(part, row)) for part in sets)
                rows.append((loss, right, document["id"], document["text"][:EXCERPT], *names))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def find_cases(
    documents: pd.DataFrame,
    truth: sparse.csr_array,
    predictions: Mapping[str, sparse.csr_array],
    *,
    labels: Sequence[str],
    most: int = MAX_CASES,
) -> dict[str, Any]:
    """Documents that losses predict differently: gold labels beside all predictions (MaskLoss, Table 4).

    Args:
        documents, truth, predictions, labels: as of ``tabulate_disagreements``.
        most: how many are shown, spread evenly over all of them.

    Returns ``losses``; ``documents`` and how many of them ``differ``; ``exact``, how many of those each
    loss gets exactly right; ``cases``: ``id``, ``text``, ``gold`` and, by loss, ``predicted``.
    """
    first = next(iter(predictions.values()))
    same = [_exact_matches(first, other) for other in predictions.values()]
    rows = np.flatnonzero(~np.all(same, axis=0))
    exact = {loss: _exact_matches(truth, part)[rows] for loss, part in predictions.items()}
    places = np.linspace(0, len(rows) - 1, min(most, len(rows))).round().astype(int)
    return {
        "losses": list(predictions),
        "documents": len(documents),
        "differ": len(rows),
        "exact": {loss: int(right.sum()) for loss, right in exact.items()},
        "cases": [
            {
                "id": str(documents["id"].iloc[row]),
                "text": documents["text"].iloc[row][:EXCERPT],
                "gold": [labels[label] for label in _row(truth, row)],
                "predicted": {
                    loss: [labels[label] for label in _row(part, row)]
                    for loss, part in predictions.items()
                },
            }
            for row in rows[places]
        ],
    }


def _exact_matches(truth: sparse.csr_array, predicted: sparse.csr_array) -> np.ndarray:
    """Which documents' label sets are exactly right."""
    wrong = sparse.csr_array(truth.astype(bool) != predicted.astype(bool))
    return np.asarray(wrong.sum(axis=1) == 0)


def _row(matrix: sparse.csr_array, row: int) -> list[int]:
    """The labels of a document, in the order of the label space."""
    return sorted(matrix[[row]].nonzero()[1].tolist())
