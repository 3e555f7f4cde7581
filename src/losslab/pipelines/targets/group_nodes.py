"""Groups of labels that are alike."""

from pathlib import Path

import pandas as pd
from scipy import sparse

from losslab.parameters import LabelGroupSettings
from losslab.supervision import (
    complete_groups,
    cooccurrence,
    group_by_coarse_class,
    group_by_communities,
    group_by_polarity,
    group_by_prefix,
    group_membership,
    read_groups,
    tabulate_groups,
)


def group_labels(
    targets: sparse.csr_array,
    documents: pd.DataFrame,
    label_space: list[str],
    options: LabelGroupSettings,
) -> tuple[sparse.csr_array, pd.DataFrame]:
    """Labels x groups, and a table of the groups."""
    train = targets[(documents["split"] == "train").to_numpy()]
    found = _find_groups(train, label_space, options)
    source = str(options.file) if options.by == "file" else f"label_groups.by: {options.by}"
    groups = complete_groups(found, label_space, source)
    frequencies = dict(zip(label_space, train.sum(axis=0).tolist(), strict=True))
    return group_membership(groups, label_space), tabulate_groups(groups, frequencies)


def _find_groups(
    train: sparse.csr_array, labels: list[str], options: LabelGroupSettings
) -> dict[str, list[str]]:
    match options.by:
        case "prefix":
            return group_by_prefix(labels, separator=options.separator)
        case "coarse":
            return group_by_coarse_class(labels, separator=options.separator)
        case "polarity":
            return group_by_polarity(labels)
        case "file":
            return read_groups(Path(str(options.file)))
        case "communities":
            graph = cooccurrence(train)
            seed, resolution = options.seed, options.resolution
            return group_by_communities(labels, graph, seed=seed, resolution=resolution)
    return {}
