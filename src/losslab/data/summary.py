"""What a corpus looks like once it is split: the table of its sizes, and what is odd about it."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.data.split import SPLITS
from losslab.errors import CorpusError

IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
WORD = re.compile(f"[{IDEOGRAPHS}]|[^\\s{IDEOGRAPHS}]+")


def count_words(text: str) -> int:
    """Words between blanks; a Chinese character counts as one, as Chinese has no blanks.

    >>> count_words("one two"), count_words("专利 A1")
    (2, 3)
    """
    return len(text.split()) if text.isascii() else len(WORD.findall(text))


def tabulate_corpus(documents: pd.DataFrame, targets: sparse.csr_array) -> pd.DataFrame:
    """A row for the whole corpus and one per split, as Table 2 of the ZLPR paper.

    ``categories`` are the labels a split's documents carry, ``cardinality`` is labels per document,
    ``density`` that divided by the categories.
    """
    words = documents["text"].map(count_words).to_numpy()
    split = documents["split"].to_numpy()
    rows = []
    for name in ("all", *SPLITS):
        part = np.flatnonzero(split == name) if name != "all" else np.arange(len(documents))
        carried = targets[part]
        categories = len(np.unique(carried.indices))
        cardinality = carried.nnz / max(len(part), 1)
        rows.append(
            {
                "split": name,
                "instances": len(part),
                "average_words": words[part].mean() if len(part) else 0.0,
                "categories": categories,
                "cardinality": cardinality,
                "density": cardinality / max(categories, 1),
            }
        )
    return pd.DataFrame(rows)


def examine_splits(documents: pd.DataFrame, targets: sparse.csr_array) -> dict[str, Any]:
    """Counts of what may spoil a comparison: unlearnable labels, empty label sets, leaks."""
    rows = {name: np.flatnonzero(documents["split"] == name) for name in SPLITS}
    present = {name: set(targets[part].indices.tolist()) for name, part in rows.items()}
    bare = np.diff(targets.indptr) == 0
    prints = np.array([hash(text.strip()) for text in documents["text"]])  # texts may be gigabytes
    return {
        "labels_only_in_test": len(present["test"] - present["train"] - present["validation"]),
        "labels_not_in_train": len((present["test"] | present["validation"]) - present["train"]),
        "documents_without_labels": {name: int(bare[part].sum()) for name, part in rows.items()},
        "duplicate_texts": {
            later: {
                earlier: int(np.isin(prints[rows[later]], prints[rows[earlier]]).sum())
                for earlier in SPLITS[: SPLITS.index(later)]
            }
            for later in SPLITS[1:]
        },
    }


PLAIN = {
    "labels_dropped": "labels dropped, carried by fewer documents than min_label_frequency",
    "documents_undersampled": "training documents taken out by unbalance",
    "labels_only_in_test": "labels only in test",
    "labels_not_in_train": "labels that no training document carries",
}


def tell(summary: Mapping[str, Any]) -> list[str]:
    """The fold, and the counts above zero, as sentences for the log and the page."""
    fold = summary.get("fold")
    told = [f"fold {fold}: one part validates, the others train"] if fold else []
    counts = {
        **{f"rows rejected: {why}": rows for why, rows in summary.get("rejected", {}).items()},
        **{f"rows left out: {why}": rows for why, rows in summary.get("left_out", {}).items()},
        **{meaning: summary.get(key, 0) for key, meaning in PLAIN.items()},
        **{
            f"{name} documents without labels": count
            for name, count in summary.get("documents_without_labels", {}).items()
        },
        **{
            f"{split} documents whose text is in {other} as well": count
            for split, found in summary.get("duplicate_texts", {}).items()
            for other, count in found.items()
        },
    }
    return told + [f"{count:,} {meaning}" for meaning, count in counts.items() if count]


def check_one_label(documents: pd.DataFrame) -> None:
    """Where the task is single: every document has exactly one label."""
    count = documents["labels"].map(lambda labels: len(set(labels)))
    faults = {"no label": documents["id"][count == 0], "several labels": documents["id"][count > 1]}
    told = [
        f"{len(ids)} have {fault}, such as {', '.join(ids.head(3))}"
        for fault, ids in faults.items()
        if len(ids)
    ]
    if told:
        raise CorpusError(
            f"task is single, but of {len(documents)} documents {'; '.join(told)}; set task to "
            "multi, or mend the labels"
        )
