"""Making labels of the training split rare on purpose: the unbalanced settings of the KWLS paper.

Sections 5.5 and 5.6 there: some classes are cut to a hundredth of their documents (1:100), or to
m = 300, 200, 100, 50, 10 or 1, while validation and test stay as they are.
"""

from collections import Counter
from collections.abc import Collection, Mapping

import pandas as pd

from losslab.data.split import stable_rank
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
    """The documents without so many training ones that ``labels`` become rare.

    Each of ``labels`` (None: all of the training split) but those to ``keep`` ends with at most
    ``size`` training documents, or one of ``ratio`` and at least one. Documents with none of these
    labels stay. A document with several stays only while none of them has its fill, so that a label
    may end below its size; those with the rarest label are let in first, then by a hash of the id.
    """
    train = documents[documents["split"] == "train"]
    frequencies = Counter(label for carried in train["labels"] for label in set(carried))
    chosen = _choose(frequencies, labels, keep)
    room = {label: size or max(1, round(frequencies[label] / (ratio or 1))) for label in chosen}
    touched = {
        index: (name, concerned)
        for index, name, carried in zip(train.index, train["id"], train["labels"], strict=True)
        if (concerned := chosen & set(carried))
    }
    return documents.drop(index=_overflow(touched, frequencies, room, seed))


def _overflow(
    touched: Mapping[int, tuple[str, set[str]]],
    frequencies: Mapping[str, int],
    room: dict[str, int],
    seed: int,
) -> list[int]:
    """The rows there is no room for."""

    def turn(index: int) -> tuple[int, bytes]:
        name, labels = touched[index]
        return min(frequencies[label] for label in labels), stable_rank(name, seed)

    overflow = []
    for index in sorted(touched, key=turn):
        labels = touched[index][1]
        if all(room[label] for label in labels):
            for label in labels:
                room[label] -= 1
        else:
            overflow.append(index)
    return overflow


def _choose(
    frequencies: Mapping[str, int], labels: Collection[str] | None, keep: Collection[str]
) -> set[str]:
    strange = (set(labels or ()) | set(keep)) - set(frequencies)
    if strange:
        raise CorpusError(
            f"no training document carries the label {', '.join(map(repr, sorted(strange)))} "
            f"named in unbalance; there are {', '.join(sorted(frequencies)[:20])}"
        )
    return set(frequencies if labels is None else labels) - set(keep)
