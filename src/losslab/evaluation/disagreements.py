"""Disagreements: documents that one loss gets exactly right and another does not."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy import sparse

MAX_DOCUMENTS = 20
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


def _exact_matches(truth: sparse.csr_array, predicted: sparse.csr_array) -> np.ndarray:
    """Which documents' label sets are exactly right."""
    wrong = sparse.csr_array(truth.astype(bool) != predicted.astype(bool))
    return np.asarray(wrong.sum(axis=1) == 0)


def _row(matrix: sparse.csr_array, row: int) -> list[int]:
    """The labels of a document, in the order of the label space."""
    return sorted(matrix[[row]].nonzero()[1].tolist())
