"""Groups of similar labels, which ``mask_label`` masks.

A grouping maps a group's name to its labels. Listed groups may overlap; a label in no group is
a group of its own.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from losslab.errors import SupervisionError

logger = logging.getLogger(__name__)
Grouping = Mapping[str, Sequence[str]]
POLARITY = re.compile(r"\b(negative|neutral|positive)\b", re.IGNORECASE)


def group_by_prefix(labels: Sequence[str], *, separator: str) -> dict[str, list[str]]:
    """Group by the prefix before the first ``separator``, else the whole label.

    >>> group_by_prefix(["cs.ai", "cs.lg", "quant-ph"], separator=".")
    {'cs': ['cs.ai', 'cs.lg'], 'quant-ph': ['quant-ph']}
    """
    return _collect(labels, [label.split(separator)[0] for label in labels])


def group_by_coarse_class(labels: Sequence[str], *, separator: str) -> dict[str, list[str]]:
    """Group by the next coarser class: the part before the last ``separator``.

    >>> group_by_coarse_class(["NUM:date", "NUM:count", "LOC:city"], separator=":")
    {'NUM': ['NUM:date', 'NUM:count'], 'LOC': ['LOC:city']}
    """
    return _collect(labels, [label.rpartition(separator)[0] or label for label in labels])


def group_by_polarity(labels: Sequence[str]) -> dict[str, list[str]]:
    """Group by the word negative, neutral or positive in a label.

    >>> group_by_polarity(["very negative", "negative", "neutral"])
    {'negative': ['very negative', 'negative'], 'neutral': ['neutral']}
    """
    matches = [POLARITY.search(label) for label in labels]
    if not any(matches):
        raise SupervisionError(
            "no label has a polarity (negative, neutral, positive), found "
            f"{', '.join(labels[:5])}; choose another label_groups.by"
        )
    names = [
        match[1].lower() if match else label for match, label in zip(matches, labels, strict=True)
    ]
    return _collect(labels, names)


def group_by_communities(
    labels: Sequence[str], cooccurrence: sparse.csr_array, *, seed: int, resolution: float = 1.0
) -> dict[str, list[str]]:
    """Group by Louvain communities of the label co-occurrence graph.

    Edge weights are ``n_ab / sqrt(n_a n_b)``: raw counts would attach each label to the most
    frequent one. A group is named after its most frequent label.
    """
    import networkx as nx

    counts = sparse.coo_array(sparse.triu(cooccurrence, k=1))
    frequency = cooccurrence.diagonal().astype(np.float64)
    graph = nx.Graph()
    graph.add_nodes_from(range(len(labels)))
    for a, b, n in zip(*counts.coords, counts.data, strict=True):
        graph.add_edge(int(a), int(b), weight=float(n / np.sqrt(frequency[a] * frequency[b])))
    communities = nx.community.louvain_communities(graph, seed=seed, resolution=resolution)
    groups = {}
    for members in sorted(
        (sorted(community) for community in communities), key=lambda m: (-len(m), m)
    ):
        leader = max(members, key=lambda label: (frequency[label], -label))
        groups[f"{labels[leader]} etc." if len(members) > 1 else labels[leader]] = [
            labels[label] for label in members
        ]
    return groups


def complete_groups(groups: Grouping, labels: Sequence[str], source: str) -> dict[str, list[str]]:
    """``groups`` without repeated labels, and a group for each label in none, which are logged.

    Raises:
        SupervisionError: a group has labels that are not among ``labels``.
    """
    grouped = {label for members in groups.values() for label in members}
    unknown = sorted(grouped - set(labels))
    if unknown:
        raise SupervisionError(
            f"{source} has {len(unknown)} unknown labels: {', '.join(map(repr, unknown[:10]))}"
            f"{', ...' if len(unknown) > 10 else ''}; the corpus has {len(labels)}, such as "
            f"{', '.join(map(repr, labels[:3]))}"
        )
    singles = [label for label in labels if label not in grouped]
    if singles:
        names = ", ".join(singles)
        logger.info(
            "%s: %d labels in no group, each a group of its own: %s", source, len(singles), names
        )
    clashes = [name for name in singles if name in groups]
    if clashes:
        raise SupervisionError(
            f"{source}: {', '.join(map(repr, clashes))} is a group and a label outside it; "
            "rename the group"
        )
    listed = {name: list(dict.fromkeys(members)) for name, members in groups.items()}
    return listed | {label: [label] for label in singles}


def group_membership(groups: Grouping, labels: Sequence[str]) -> sparse.csr_array:
    """Membership matrix, labels x groups."""
    row = {label: index for index, label in enumerate(labels)}
    pairs = [(row[label], g) for g, members in enumerate(groups.values()) for label in members]
    rows, columns = np.array(pairs, dtype=np.int32).reshape(-1, 2).T
    ones = np.ones(len(pairs), dtype=np.int8)
    return sparse.csr_array((ones, (rows, columns)), shape=(len(labels), len(groups)))


def tabulate_groups(groups: Grouping, frequencies: Mapping[str, int]) -> pd.DataFrame:
    """One row per group, largest first: its labels and their total training frequency."""
    rows = [
        {
            "group": name,
            "labels": len(members),
            "occurrences": sum(frequencies[label] for label in members),
            "members": ", ".join(members),
        }
        for name, members in groups.items()
    ]
    table = pd.DataFrame(rows, columns=["group", "labels", "occurrences", "members"])
    return table.sort_values(["labels", "group"], ascending=[False, True], ignore_index=True)


def _collect(labels: Sequence[str], names: Sequence[Any]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for label, name in zip(labels, names, strict=True):
        groups.setdefault(name, []).append(label)
    return groups
