"""Losses whose results are the same, and why one may do nothing that another does not."""

from collections.abc import Mapping, Sequence
from typing import Any

from scipy import sparse


def identical_losses(
    metrics: Mapping[str, Mapping[str, Any]],
    predictions: Mapping[str, Sequence[sparse.csr_array]],
) -> list[list[str]]:
    """Groups of losses that agree in every metric and every prediction of every seed.

    Args:
        metrics: results by loss, see ``evaluate_loss``.
        predictions: by loss, documents x labels for each seed.
    """
    groups: list[list[str]] = []
    for loss in metrics:
        for group in groups:
            same = metrics[loss]["seeds"] == metrics[group[0]]["seeds"]
            if same and _agree(predictions[loss], predictions[group[0]]):
                group.append(loss)
                break
        else:
            groups.append([loss])
    return [group for group in groups if len(group) > 1]


def _agree(some: Sequence[sparse.csr_array], others: Sequence[sparse.csr_array]) -> bool:
    pairs = zip(some, others, strict=True)
    return all((one.astype(bool) != other.astype(bool)).nnz == 0 for one, other in pairs)


def explain_idleness(
    mask: sparse.csr_array | None,
    groups: sparse.csr_array | None,
    targets: sparse.csr_array | None,
) -> str:
    """Why what a loss masks labels by changes nothing; "" where it does, or where it has none.

    Args:
        mask: documents x labels that may be left out, of a loss that has one; ``targets``: their
            gold labels, which are not left out.
        groups: labels x groups, of a loss that masks labels of a group.

    >>> explain_idleness(None, sparse.csr_array([[1, 0], [0, 1]]), None)
    'its mask is empty: no two labels are in one group'
    """
    if groups is not None and groups.astype(bool).sum(axis=0).max(initial=0) < 2:
        return "its mask is empty: no two labels are in one group"
    if mask is None or targets is None or (mask.astype(bool) > targets.astype(bool)).nnz:
        return ""
    return "its mask is empty: no document has keywords of a label it does not carry"
