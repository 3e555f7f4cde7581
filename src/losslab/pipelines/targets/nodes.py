"""What the training split says about its labels."""

from typing import Any

import pandas as pd
from scipy import sparse

from losslab.corpora import SPLITS
from losslab.parameters import GroupOptions
from losslab.targets import cooccurrence, describe_labels, frequency_groups, tabulate_labels


def compute_label_statistics(
    targets: sparse.csr_array,
    label_space: list[str],
    documents: pd.DataFrame,
    options: GroupOptions,
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Figures of the training labels, and a table with a row per label."""
    parts = {name: targets[(documents["split"] == name).to_numpy()] for name in SPLITS}
    statistics = describe_labels(parts["train"])
    groups = frequency_groups(statistics["frequencies"], **options.model_dump())
    return {**statistics, "groups": groups}, tabulate_labels(label_space, groups, **parts)


def count_cooccurrence(targets: sparse.csr_array, documents: pd.DataFrame) -> sparse.csr_array:
    """How many training documents carry each pair of labels."""
    return cooccurrence(targets[(documents["split"] == "train").to_numpy()])
