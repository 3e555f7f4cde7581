"""Losses that spare similar labels, beside others: label by label, document by document."""

from typing import Any

import numpy as np
import pandas as pd
from plotly import graph_objects as go
from scipy import sparse

from losslab.parameters import ReportSettings
from losslab.reporting.similar_labels import draw_similar_labels

BASELINE = "bce"
SPARING = ("mask_label", "mask_element", "kwls")
"""Losses that spare a document's similar labels; their papers show single labels and documents."""
COMPARED = (BASELINE, *SPARING)
"""Those whose documents are listed, as in the papers."""


def draw_similar(
    label_scores: pd.DataFrame,
    label_space: list[str],
    label_groups: sparse.csr_array,
    comparison: pd.DataFrame,
    report: ReportSettings,
) -> go.Figure:
    """F1 of labels that are alike; a picture shows the reference and losses that spare them."""
    ordered = label_scores.set_index("label").loc[label_space].reset_index()
    first = {report.reference, *SPARING}
    return draw_similar_labels(ordered, comparison["loss"].tolist(), label_groups, first)


def tabulate_cases(
    documents: pd.DataFrame, targets: sparse.csr_array, label_space: list[str], **results: Any
) -> pd.DataFrame:
    """Test documents that one loss gets right and the baseline wrong, or the other way round.

    ``results``: ``<loss>_scores`` and ``<loss>_thresholds``; of several seeds the first.
    """
    from losslab.evaluation.cases import tabulate_cases

    rows = np.flatnonzero(documents["split"] == "test")
    losses = [name.removesuffix("_scores") for name in results if name.endswith("_scores")]
    return tabulate_cases(
        documents.iloc[rows],
        targets[rows].toarray().astype(bool),
        {
            loss: _decide(results[f"{loss}_scores"], results[f"{loss}_thresholds"])
            for loss in losses
        },
        reference=BASELINE,
        labels=label_space,
    )


def _decide(scores: dict[str, np.ndarray], thresholds: dict[str, Any]) -> np.ndarray:
    from losslab.evaluation import apply_decision

    seed = str(scores["seeds"][0])
    return apply_decision(thresholds["seeds"][seed][thresholds["primary"]], scores["test"][0])
