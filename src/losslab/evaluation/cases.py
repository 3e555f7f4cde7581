"""Documents that one loss gets exactly right and another does not."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

MOST_CASES = 20
EXCERPT = 300  # characters of a document that tell what it is about


def tabulate_cases(
    documents: pd.DataFrame,
    truth: np.ndarray,
    predictions: Mapping[str, np.ndarray],
    *,
    reference: str,
    labels: Sequence[str],
    most: int = MOST_CASES,
) -> pd.DataFrame:
    """Where a loss and the reference part: at most ``most`` documents each way for every loss.

    Args:
        documents: ``id`` and ``text`` of the rows of all matrices.
        truth: documents x labels; ``predictions``: the same by loss, the reference among them.
        labels: their names.

    Returns ``loss``, ``right`` (the loss or the reference), ``id``, ``text``, and the labels in
    ``truth``, ``predicted`` (by the loss) and ``reference`` (by the reference).
    """
    names, texts = np.asarray(labels, dtype=object), documents["text"].str.slice(0, EXCERPT)
    exact = {loss: (guess == truth).all(axis=1) for loss, guess in predictions.items()}
    rows = []
    for loss in predictions:
        for right, wrong in ((loss, reference), (reference, loss)) if loss != reference else ():
            for place in np.flatnonzero(exact[right] & ~exact[wrong])[:most]:
                matrices = {
                    "truth": truth,
                    "predicted": predictions[loss],
                    "reference": predictions[reference],
                }
                said = {name: "; ".join(names[m[place]]) for name, m in matrices.items()}
                about = {"id": documents["id"].iloc[place], "text": texts.iloc[place]}
                rows.append({"loss": loss, "right": right, **about, **said})
    columns = ["loss", "right", "id", "text", "truth", "predicted", "reference"]
    return pd.DataFrame(rows, columns=columns)
