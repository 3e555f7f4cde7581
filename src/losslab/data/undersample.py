"""Undersampling of labels in the training split: the imbalanced settings of the KWLS paper.

Sections 5.5 and 5.6: some classes keep a hundredth of their training documents (1:100), or m = 300,
200, 100, 50, 10 or 1; validation and test are unchanged.
"""

from collections import Counter
from collections.abc import Collection, Mapping

import pandas as pd

from losslab.data.split import split_rows, stable_rank
from losslab.errors import CorpusError


def undersample(
    documents: pd.DataFrame,
    *,
    labels: Collection[str] | None,
    keep: Collection[str] = (),
    ratio: float | None = None,
    size: int | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """Remove training documents of ``labels`` (None: all training labels) except ``keep``.

    Each label keeps at most ``size`` training documents, or 1 / ``ratio`` of them and at least one.
    A document with several of the labels is kept only if all have room, so that a label may end
    below its size; documents are visited by their rarest label, then by a hash of the id.
    Documents without these labels are kept.
    """
    train = documents.iloc[split_rows(documents, "train")]
    frequencies = Counter(label for carried in train["labels"] for label in set(carried))
    reduced = _labels_to_reduce(frequencies, labels, keep)
    room = {label: size or max(1, round(frequencies[label] / (ratio or 1))) for label in reduced}
    candidates = {
        index: (name, affected)
        for index, name, carried in zip(train.index, train["id"], train["labels"], strict=True)
        if (affected := reduced & set(carried))
    }
    return documents.drop(index=_overflow(candidates, frequencies, room, seed))


def _overflow(
    candidates: Mapping[int, tuple[str, set[str]]],
    frequencies: Mapping[str, int],
    room: dict[str, int],
    seed: int,
) -> list[int]:
    """Index of the documents to remove."""

    def priority(index: int) -> tuple[int, bytes]:
        name, labels = candidates[index]
        return min(frequencies[label] for label in labels), stable_rank(name, seed)

    overflow = []
    for index in sorted(candidates, key=priority):
        labels = candidates[index][1]
        if all(room[label] for label in labels):
            for label in labels:
                room[label] -= 1
        else:
            overflow.append(index)
    return overflow


def _labels_to_reduce(
    frequencies: Mapping[str, int], labels: Collection[str] | None, keep: Collection[str]
) -> set[str]:
    unknown = (set(labels or ()) | set(keep)) - set(frequencies)
    if unknown:
        raise CorpusError(
            f"undersample: no training document has the label "
            f"{', '.join(map(repr, sorted(unknown)))}; labels are "
            f"{', '.join(sorted(frequencies)[:20])}"
        )
    return set(frequencies if labels is None else labels) - set(keep)
